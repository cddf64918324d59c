# Two commands do everything on a fresh machine with Python 3.11 or newer: make run, make test.
VENV ?= .venv
PYTHON ?= python3
CORES ?= all
BIN = $(abspath $(VENV)/bin)
quiet = --quiet rules progress reason host # `all` would leave out errors

.PHONY: help install pages run check test report clean relock

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.done ## make .venv from requirements.lock, with the retort command

# what a failed command lacked, in one line
comma := ,
cause = $$(awk '/Retrying/ {unreachable = 1} sub(/.*No matching distribution found for /, "") {missing = $$0} \
	END {print unreachable ? "no package index answers" : missing ? "the package index has no " missing " for this Python and \
	platform (to try another Python: rm -r $(VENV)$(comma) then make install PYTHON=python3.12)" : "an installation failed"}' $(VENV)/pip.log)
lacks = || { echo "make: $(1)" >&2; exit 1; }

$(VENV)/.done: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null $(call lacks,$(PYTHON) is missing or older than 3.11: install a newer Python$(comma) or name one: make install PYTHON=python3.12)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null $(call lacks,$(PYTHON) has no venv: install it$(comma) on Debian and Ubuntu with: apt install python3-venv)
	@$(PYTHON) -m venv $(VENV) $(call lacks,no virtual environment could be made in $(VENV))
	@$(BIN)/pip install --quiet -r requirements.lock >$(VENV)/pip.log 2>&1 $(call lacks,pip could not install requirements.lock: $(cause); pip says more in $(VENV)/pip.log)
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e . >>$(VENV)/pip.log 2>&1 $(call lacks,pip could not install retort itself; $(VENV)/pip.log says why)
	@touch $@

pages: install ## all pages from print and recorded runs alone: nothing is trained; `make run` then fills them
	PATH="$(BIN):$$PATH" snakemake --cores 1 --config 'papers=[]'

run: install ## run the study of config.yaml, then write reports/index.html, with the pages of all papers
	PATH="$(BIN):$$PATH" snakemake --cores $(CORES)

check: install ## linters, types and the fast tests: no workflow, no guide, nothing slow; about two minutes
	PATH="$(BIN):$$PATH" pytest -n 2 -m "not slow" tests/unit tests/contracts tests/references --ignore=tests/contracts/test_guides.py

test: install ## everything: what `make check` does, the guides step by step, and the whole workflow on a tiny study
	PATH="$(BIN):$$PATH" pytest -n 2 --durations=25

report: run ## the study, every file of it verified, and Snakemake's own report (reports/snakemake.zip)
	$(BIN)/retort verify
	PATH="$(BIN):$$PATH" snakemake --cores 1 $(quiet) --force -- reports/index.html # its foot says how results were verified
	PATH="$(BIN):$$PATH" snakemake --cores 1 $(quiet) --report reports/snakemake.zip

relock: ## requirements.lock and envs anew, with the newest versions that pyproject.toml allows, then all tests with them
	rm -rf $(VENV)-new
	$(PYTHON) -m venv $(VENV)-new
	$(VENV)-new/bin/pip install --quiet 'setuptools>=77' '.[test]'
	$(VENV)-new/bin/pip freeze --all --exclude pip --exclude retort >$(VENV)-new/frozen
	sed -E '/^(cuda|nvidia|triton)[-=]/d; s/[+].*//' $(VENV)-new/frozen >requirements.lock # torch brings what its platform needs
	sed -E 's,(.*)==(.*),s/^(  - (py|python-)?\1(-minimal)?)=.*/\\1=\2/I,' requirements.lock >$(VENV)-new/versions # conda's names
	sed -E -i.old -f $(VENV)-new/versions envs/*.yaml && rm envs/*.yaml.old
	$(MAKE) test VENV=$(VENV)-new

clean: ## delete results, reports and Snakemake's memory; the README of each folder stays
	rm -rf .snakemake $(filter-out %/README.md,$(wildcard results/* results/.[!.]* reports/* reports/.[!.]*))
