# Two commands do everything on a fresh machine with Python 3.11 or newer: make run, make test.
VENV ?= .venv
PYTHON ?= python3
CORES ?= all
BIN = $(abspath $(VENV)/bin)

.PHONY: help install run check test report clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.done ## make .venv from requirements.lock, with the retort command

$(VENV)/.done: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet -r requirements.lock && $(BIN)/pip install --quiet --no-deps --no-build-isolation -e . && touch $@

run: install ## run the study of config.yaml, then write reports/index.html
	PATH="$(BIN):$$PATH" snakemake --cores $(CORES) --rerun-incomplete --keep-going --quiet rules reason

check: install ## linters, types and the fast tests: no workflow, no guide; under two minutes
	PATH="$(BIN):$$PATH" pytest -n 2 tests/unit tests/contracts tests/references --ignore=tests/contracts/test_guides.py

test: install ## everything: what `make check` does, the guides step by step, and the whole workflow on a tiny study
	PATH="$(BIN):$$PATH" pytest

report: run ## the study, and Snakemake's own report as reports/snakemake.zip
	PATH="$(BIN):$$PATH" snakemake --cores 1 --quiet all --report reports/snakemake.zip

clean: ## delete results, reports and Snakemake's memory; the README of each folder stays
	rm -rf .snakemake $(filter-out %/README.md,$(wildcard results/* results/.[!.]* reports/* reports/.[!.]*))
