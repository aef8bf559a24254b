# The targets of this project; `make` lists them. Needs Linux, Python 3.11 or later and a package index; all else is fetched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
DEMO ?=
BENCH ?=
PYTEST := $(BIN)/python -m pytest

# The machine's own pip configuration counts where uv has none: that is how companies install.
# A constraint has no hash; where versions are locked it has nothing to say.
AS_PIP = eval "$$($(PYTHON) -m modelpivot.facts.pip)";

# Without compiled modules every start, of a command as of a flow, takes two seconds longer.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-quick test-long pictures bench-weights lint clean lock

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.complete ## the environment in .venv, exact versions, hashes checked

$(VENV)/.complete: requirements.lock tools.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python3: expected 3.11 or later, found " + sys.version.split()[0] + "; name another one: make PYTHON=python3.12 ...")'
	@command -v "$(UV)" >/dev/null || { $(PYTHON) -m venv .tools && .tools/bin/python -m pip install -q --require-hashes -r tools.lock; }
	@$(UV) venv -q --allow-existing --python $(PYTHON) $(VENV)
	@$(AS_PIP) unset UV_CONSTRAINT; $(UV) pip sync -q --compile-bytecode --python $(VENV) --require-hashes requirements.lock
	@$(UV) pip install -q --python $(VENV) --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## a whole pivot on this machine: no GPU, no account (DEMO="--fail probe", DEMO=--stop)
	@$(BIN)/modelpivot demo $(DEMO)

test: setup lint ## all tests but the long matrices, in two halves beside each other
	$(BIN)/python -m tests.halves

test-quick: setup ## under a minute: what is decided and read; no engine, server, switch or transfer
	$(PYTEST) -m "not long and not engine and not prefect and not slow" -q

test-long: setup ## the long matrices too
	$(PYTEST)

pictures: setup ## take the pictures of the docs anew, in the tests that look at pages
	MODELPIVOT_PICTURES=docs/images $(PYTEST) tests/deployments/test_browser.py tests/benchmark/test_pictures_seen.py

bench-weights: setup ## fetch and verify beside the Hub library's commands (minutes; docs/benchmarks.md; BENCH="--gigabytes 8")
	PYTHONPATH=. $(BIN)/python benchmarks/weights.py $(BENCH)

lint: setup ## ruff and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lock: $(VENV)/.complete ## resolve requirements.lock and tools.lock anew
	$(AS_PIP) $(UV) pip compile -q pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header -o requirements.lock
	$(AS_PIP) echo uv | $(UV) pip compile -q - --universal --python-version 3.11 --generate-hashes --no-header -o tools.lock

clean: ## end the demo, remove everything made here
	@test ! -x $(BIN)/modelpivot || $(BIN)/modelpivot demo --stop
	rm -rf $(VENV) .tools .demo .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
