# Every habit is one word; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
# Test processes; the pool of a two-core machine
JOBS ?= 2
ROOMS := $(wildcard contract infra agent replay sim spillway tools bench tests)

.PHONY: help setup demo test slow check lint type format bench twin clean lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Python environment, Pulumi CLI, language host (first time about 4 minutes)
	@$(PYTHON) tools/setup.py

demo: setup ## the main job on the digital twin, live in this terminal
	@$(BIN)/spillway demo

test: setup ## every test but the slow ones
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

slow: setup ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

check: setup lint type test ## what CI runs: format, lint, types, import contracts, tests

lint: setup ## format, style and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

type: setup ## mypy, strict
	$(BIN)/mypy $(ROOMS)

format: setup ## rewrite files the way `make lint` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## speed of the tick, placement and actuation
	$(BIN)/python -m bench

twin: setup ## start the digital twin on a scaled clock
	@$(BIN)/spillway twin start

clean: ## remove what was made in this checkout; stack state and the outside cache stay
	rm -rf out .venv .spillway/bin .spillway/toolchain.json
	rm -rf .coverage htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Needs uv. uv.lock stays out of git because it names download hosts; the pins and hashes are kept.
lock: ## renew requirements.lock from pyproject.toml
	uv lock --upgrade
	uv export --quiet --all-groups --no-emit-project --no-header --output-file requirements.lock
