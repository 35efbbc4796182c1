# The targets first set up .venv from the lock file. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run models test test-all check coverage bench gpu setup clean docs
setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps -e .
	touch $@

run: setup
	$(BIN)/python experiments/run.py +exp=cdm_dialogue

models: setup
	$(BIN)/python experiments/run.py +exp=models

docs: setup
	PYTHONPATH=. $(BIN)/python -m mkdocs build --strict --quiet

test: setup
	$(BIN)/python -m pytest

test-all: setup
	$(BIN)/python -m pytest -m "not network"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/vulture

coverage: setup # branches that the tests run, by file
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report --skip-covered --skip-empty

bench: setup
	for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

gpu: setup
	$(BIN)/python benchmarks/gpu.py

clean:
	rm -rf .venv outputs build *.egg-info
