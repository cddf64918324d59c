# Two commands do everything on a fresh machine with Linux and the Python that pyproject.toml names: make run, make test.
VENV ?= .venv
PYTHON ?= python3
BIN = $$(readlink -f "$(VENV)")/bin# in the shell
quiet = --quiet rules progress reason host # `all` would leave out errors
oldest = $$(sed -n 's/^requires-python = ">=\([0-9.]*\)".*/\1/p' pyproject.toml)
pip = PIP_USER=0 "$(BIN)/python" -m pip --disable-pip-version-check

# jobs at once: as many as there are cores, and one for each 2 GB of memory, of this machine or of a container
CORES ?= $(or $(shell cat /proc/meminfo $(addprefix /sys/fs/cgroup/memory,.max /memory.limit_in_bytes) 2>/dev/null | awk -v cores="$$(nproc)" ' \
	/^MemTotal/ {bytes = $$2 * 1024} \
	/^[0-9]+$$/ && $$1 < bytes {bytes = $$1} \
	END {jobs = int(bytes / 1.9e9); if (bytes && jobs < cores) print jobs ? jobs : 1}'),all)

# where a home folder cannot be written, what libraries cache stands here
ifeq ($(shell mkdir -p "$${XDG_CACHE_HOME:-$$HOME/.cache}" 2>/dev/null && test -w "$${XDG_CACHE_HOME:-$$HOME/.cache}" && echo yes),)
export XDG_CACHE_HOME = $(CURDIR)/.snakemake/cache
endif

.PHONY: help install pages run check test docs report clean relock

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.done ## make .venv from requirements.lock, with the retort command

# what a failed command lacked, in one line
comma := ,
lacks = || { echo "make: $(1)" >&2; exit 1; }

# why pip failed, from what it said
define cause
/No space left on device/ {full = 1}
/Looking in indexes: .*,/ {several = 1}
/Retrying/ {dead = 1}
/(Downloading|Using cached) |from versions: [0-9]/ {answered = 1}
/error: .*(gcc|clang|Python\.h)/ {building = 1}
match($$0, /No matching distribution found for /) {missing = substr($$0, RSTART + RLENGTH)}
!package && match($$0, /(Failed building wheel for|Failed to build) [^ ]+$$/) {package = $$NF}
/^ *(ERROR|error): / {last = $$0; sub(/^ *(ERROR|error): /, "", last)}
END {
	here = " for this Python and platform"
	another = " (to try another Python: rm -r $(VENV), then make install PYTHON=python3.13)"
	compiler = " has no wheel for this Python; to build it, install a C compiler and the headers of Python," \
		" on Debian and Ubuntu with: apt install gcc python3-dev"
	if (full) print "no space is left for $(VENV), for the cache of pip, or for temporary files (TMPDIR)"
	else if (missing && offline) print "pip is set to ask no package index (no-index), and has no " missing
	else if (missing && dead && !answered && !several) print "no package index answers"
	else if (missing && dead) print "a package index does not answer, and no other has " missing here
	else if (missing) print "the package index has no " missing here another
	else if (building) print package compiler another
	else print last ? last : "an installation failed"
}
endef
export cause

# what pip says is kept in a variable: a full disk takes no log
installs = said=$$($(pip) install $(1) 2>&1); status=$$?; printf '%s\n' "$$said" 2>/dev/null >>"$(VENV)/pip.log"; \
	[ $$status = 0 ] || { $(pip) config list 2>/dev/null | grep -qiE "no-index='(1|t|true|y|yes|on)'" && offline=1; \
	echo "make: pip could not install $(2): $$(echo "$$said" | awk -v offline=$$offline "$$cause"); pip says more in $(VENV)/pip.log" >&2; \
	exit 1; }

# Snakemake does not quote the path of Python: where that has a space, the environment stands in the cache folder
place = case "$$(readlink -f "$(VENV)")" in *' '*) cache=$${XDG_CACHE_HOME:-$$HOME/.cache}/retort; \
	there=$$cache/environment-$$(pwd | cksum | cut -d ' ' -f 1); case "$$there" in *' '*) false ;; \
	*) rm -rf "$$there" "$(VENV)" && mkdir -p "$$there" && ln -s "$$there" "$(VENV)" ;; esac ;; esac

$(VENV)/.done: requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < tuple(map(int, sys.argv[1].split("."))))' $(oldest) 2>/dev/null \
	$(call lacks,$(PYTHON) is missing or older than $(oldest): install a newer Python$(comma) or name one: make install PYTHON=python3.13)
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null $(call lacks,$(PYTHON) has no venv: install it$(comma) on Debian and Ubuntu with: apt install python3-venv)
	@$(place) $(call lacks,Snakemake cannot call a Python whose path has a space: name another folder: make install VENV=/var/tmp/retort)
	@"$(PYTHON)" -m venv "$$(readlink -f "$(VENV)")" $(call lacks,no virtual environment could be made in $(VENV): may you write there$(comma) and has the disk room?)
	@rm -f "$(VENV)/pip.log"
	@$(call installs,-r requirements.lock,requirements.lock)
	@$(call installs,--no-deps --no-build-isolation -e .,retort itself)
	@touch $@

pages: install ## all pages from the reported numbers and recorded runs alone: nothing is trained; `make run` then fills them
	PATH="$(BIN):$$PATH" snakemake --cores 1 --config 'papers=[]'

run: install ## run the study of config.yaml, then write reports/index.html, with the pages of all papers
	PATH="$(BIN):$$PATH" snakemake --cores $(CORES)

check: install ## linters, types and the fast tests: no workflow, no guide, nothing slow; some three minutes
	PATH="$(BIN):$$PATH" pytest -n 2 -m "not slow" tests/unit tests/contracts tests/references --ignore=tests/contracts/test_guides.py

test: install ## everything: what `make check` does, the guides step by step, and the whole workflow on a tiny study
	PATH="$(BIN):$$PATH" pytest -n 2 --durations=25

# an environment of its own, since nothing else needs mkdocs
$(VENV)-docs/.done: override VENV := $(VENV)-docs
$(VENV)-docs/.done:
	@"$(PYTHON)" -m venv "$(VENV)"
	@$(call installs,'mkdocs>=1.6$(comma)<2',mkdocs)
	@touch "$@"

docs: $(VENV)-docs/.done ## all guides as a site that can be searched, in build/site; a dead link is an error
	rm -rf build/guides
	mkdir -p build/guides
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --no-dereference --parents -t build/guides
	"$(VENV)-docs/bin/python" -m mkdocs build --strict
	@echo "to read and search it on http://localhost:8000: $(PYTHON) -m http.server -d build/site"

report: run ## the study, every file of it verified, and Snakemake's own report (reports/snakemake.zip)
	"$(BIN)/retort" verify
	PATH="$(BIN):$$PATH" snakemake --cores 1 $(quiet) --force -- reports/index.html # its foot says how results were verified
	PATH="$(BIN):$$PATH" snakemake --cores 1 $(quiet) --report reports/snakemake.zip

relock: ## requirements.lock and envs anew, with the newest versions for the oldest Python, then all tests with them
	rm -rf $(VENV)-new
	"$(PYTHON)" -m venv $(VENV)-new
	$(VENV)-new/bin/python -m pip install --quiet uv
	echo 'setuptools>=77' | $(VENV)-new/bin/uv pip compile --quiet --python-version $(oldest) --extra test --no-header --no-annotate \
	pyproject.toml - >$(VENV)-new/frozen
	sed -E '/^(cuda|nvidia|triton)[-=]/d; s/[+].*//' $(VENV)-new/frozen >requirements.lock # torch brings what its platform needs
	sed -E 's,[-_],[-_],g; s,(.*)==(.*),s/^(  - (py|python-)?\1(-minimal)?)=.*/\\1=\2/I,' requirements.lock >$(VENV)-new/versions # conda's names
	sed -E -i.old -f $(VENV)-new/versions envs/*.yaml && rm envs/*.yaml.old
	$(MAKE) test VENV=$(VENV)-new

clean: ## delete results, reports and Snakemake's memory; the README of each folder stays
	rm -rf .snakemake $(filter-out %/README.md,$(wildcard results/* results/.[!.]* reports/* reports/.[!.]*))
