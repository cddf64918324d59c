# Two commands do everything on a fresh machine with Python 3.11 or newer: make run, make test.
VENV ?= .venv
PYTHON ?= python3
CORES ?= all
BIN = $(abspath $(VENV)/bin)

.PHONY: install run test report clean

install: $(VENV)/.done

$(VENV)/.done: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet -r requirements.lock && $(BIN)/pip install --quiet --no-deps --no-build-isolation -e . && touch $@

run: install
	PATH="$(BIN):$$PATH" snakemake --cores $(CORES) --rerun-incomplete --quiet rules reason

test: install
	PATH="$(BIN):$$PATH" pytest

report: run
	PATH="$(BIN):$$PATH" snakemake --cores 1 --quiet all --report reports/snakemake.zip

clean:
	rm -rf results reports .snakemake
