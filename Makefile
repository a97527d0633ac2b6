# make run        environment, installation, every scenario of the library
# make test       lint, types, import contracts, tests, scenarios (5 minutes on 2 cores)
# make test-slow  fuzz, kills, sweeps, real processes, browser (25 minutes)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-slow lint types contracts unit scenarios cassettes clean

run: $(VENV)/.run
	$(BIN)/claw scenario run

test: $(VENV)/.dev
	@$(MAKE) --no-print-directory lint types contracts unit scenarios

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

unit: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow"

scenarios: $(VENV)/.dev
	$(BIN)/claw scenario run

cassettes: $(VENV)/.dev
	$(BIN)/python -m simulators.shells.shipped cassettes
	$(BIN)/claw cassette verify cassettes

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "claw needs Python 3.11 or newer: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[runtime]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
