# make help lists what can be done. Everything goes into .venv in this folder.

PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= torch==2.13.0
BIN    := $(VENV)/bin
PACKAGES := evolve operators fitness llm conf experiments

.DEFAULT_GOAL := help
.PHONY: help install install-test install-torch demo test test-gpu reproduce check format wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed; give one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "error: $(PYTHON) cannot make environments; install its venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

install: $(VENV)/.installed  ## make .venv and install the toolkit into it

install-test: $(VENV)/.installed-test  ## the same with what the tests need

install-torch: | $(BIN)/python  ## add torch and triton (interpreter, compiling for GPUs)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'

demo: install  ## evolve a matrix product on this machine's CPU and write a report (about two minutes)
	$(BIN)/python -m experiments.run experiment=demo

test: install-test  ## run the test suite (no GPU, model or network)
	$(BIN)/python -m pytest -q -m "not gpu and not vllm"

test-gpu: install-test install-torch  ## run the tests that need a GPU
	$(BIN)/python -m pytest -q -m gpu

reproduce: install  ## replay all stored results and regenerate their tables and figures
	$(BIN)/python -m experiments.reproduce

check: $(VENV)/.installed-dev  ## format, lint, types and tests: what a change must pass
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/.installed-dev  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

wheel: install-test  ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean:  ## remove what was built, and .venv; runs/ stays
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests -name __pycache__ -type d -prune -exec rm -rf {} +
