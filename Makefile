# `make` alone lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PORT ?= 8000

# Everything that runs a notebook runs in tools/environment.py, so that numbers come out as they are stored.
RUN := $(BIN)/python tools/environment.py

# A cell that takes 60 s where it is written (tools/notebooks.py) may take 180 on a slower or busier machine.
NBVAL := --nbval --nbval-kernel-name=python3 --nbval-cell-timeout=180 --nbval-sanitize-with=tests/nbval-sanitize.cfg
# As many processes as there are cores, but each may hold a browser. conftest.py says what stays together.
PARALLEL := --numprocesses auto --maxprocesses 4

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PYTHONHASHSEED := 0

JB := $(BIN)/jupyter-book build . -n -W --keep-going

.PHONY: help book test notebooks serve lab bench lock lint clean

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

$(STAMP): requirements.lock pyproject.toml
	@command -v $(PY) >/dev/null || { echo "No $(PY) here. Install Python 3.11 or newer (Debian, Ubuntu: apt install python3 python3-venv)."; exit 1; }
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; $(PY) is $$($(PY) -V). Name another: make PY=python3.12 ..."; exit 1; }
	@$(PY) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Creating $(VENV) (about a minute) ..."
	@test -x $(BIN)/python || $(PY) -m venv $(VENV)
	@$(BIN)/python -m pip install --progress-bar off --require-hashes -r requirements.lock \
		| awk '/^Collecting/ && ++n % 40 == 0 {print "  " n " packages ..."; fflush()} /^Installing/ {print "  installing ..."; fflush()}'
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

book: $(STAMP) ## build the book into _build/html
	@$(JB)

test: book ## every test: library, notebooks, built book, browser
	@$(BIN)/python tools/browser.py
	@$(RUN) $(BIN)/python -m pytest $(NBVAL) $(PARALLEL) tests book

notebooks: $(STAMP) ## execute the notebooks and store their outputs; NB=04 does one
	@$(BIN)/python tools/notebooks.py $(NB)

serve: $(STAMP) ## build, serve on localhost, build again on change; PORT=8000
	@$(BIN)/jupyter-book config sphinx . >/dev/null
	@PYTHONPATH=book/_ext $(BIN)/sphinx-autobuild -n -q --host 127.0.0.1 --port $(PORT) --re-ignore '/(_build|conf\.py|\.[a-z_]+|__pycache__|[^/]*\.egg-info)(/|$$)' . _build/serve

lab: $(STAMP) ## JupyterLab on the chapters
	@$(RUN) $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) book

bench: book ## time the library beside the frameworks that are installed, and the built pages; ARGS=--help tells more
	@$(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMP) ## ruff: rules and form
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

lock: $(STAMP) ## resolve versions into requirements.lock; UPGRADE=--upgrade takes the newest
	@$(BIN)/python -m pip install -q uv
	@$(BIN)/uv pip compile -q $(UPGRADE) --universal --generate-hashes --python-version 3.11 --no-header --no-annotate pyproject.toml requirements.in --extra test -o requirements.lock

clean: ## remove the environment and everything built
	rm -rf $(VENV) _build build conf.py *.egg-info .pytest_cache .ruff_cache
