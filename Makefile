# Everything a contributor or a new user runs. Needs Python 3.11 or newer and nothing else of ours.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
HOST ?= 127.0.0.1
PORT ?= 8460

# Whoever forbids Python to keep what it compiled would compile all of it again for each of a thousand processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run ui meaning test fast soak check bench conformance setup clean

# Start the gateway with the demo board and print how to connect a client.
run: $(VENV)/.run
	@$(MAKE) --no-print-directory ui || echo "  … going on without the pages"
	@$(MAKE) --no-print-directory meaning || echo "  … going on: tools are found by their words alone"
	@$(BIN)/python examples/demo/lending.py .demo/lending.db
	@PYTHON_FOR_DEMO=$(abspath $(BIN)/python) $(BIN)/pegboard serve --config examples/demo/pegboard.yaml --data-dir .demo --host $(HOST) --port $(PORT)

# The pages at /ui: built when anything they are made of changed. Node comes from the PATH, else from a wheel.
ui: $(VENV)/.run
	@$(BIN)/python web/build.py

# What search by meaning needs: a runtime, and a model of 84 MB that is made into one of 24. Once.
meaning: $(VENV)/.semantic
	@$(BIN)/pegboard search setup --data-dir .demo

# Tests wait for processes half of their time, so there are two workers for each processor.
WORKERS = $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

# Every test but the long runs: core, search, store on both engines, providers, surfaces, pages.
test: $(VENV)/.dev $(VENV)/.compiled prepared
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not soak" $(ARGS)

FAST_TESTS := $(addprefix tests/,core prompts search config gateway surfaces/rest tools library)

# What runs in memory: no process, no database server, no container, no browser.
fast: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal -q -m "not slow and not soak" $(FAST_TESTS) $(ARGS)

# The long runs, several hours: tests marked soak, 50,000 cases for each fuzz test, the protocol's own suite in every
# way and version, and an hour of hostile programs for each sandbox.
soak: $(VENV)/.dev prepared
	@$(BIN)/python -m pytest -n auto --dist worksteal -q -m soak $(ARGS)
	@$(BIN)/python -m pytest -n auto --dist worksteal -q --timeout=0 --hypothesis-profile=soak $(FUZZ_TESTS)
	@$(BIN)/python -m benchmarks.formats.fuzz benchmarks/parser_cases/own.json --texts 50000
	@$(BIN)/python -m tests.conformance
	@$(BIN)/python -m benchmarks.hostile tests/providers/sandbox/attacks/*.yaml --seconds 3600

FUZZ_TESTS := $(addprefix tests/,config/bundle/test_archives.py config/manifest/test_fuzzing.py \
	config/manifest/test_giving_away.py config/test_pasted.py \
	config/test_problems.py core/databases/test_valueless.py prompts/test_outputs.py prompts/test_repair.py \
	prompts/test_scanner.py)

# Compiles the tests once: in a new clone each worker would do it for itself, all at the same time.
$(VENV)/.compiled: $(VENV)/.dev
	@$(BIN)/python -m pytest -q --collect-only > /dev/null
	@touch $@

# What tests use beside Python: the built pages, a browser, a container engine and MariaDB.
.PHONY: prepared
prepared: $(VENV)/.dev
	@$(BIN)/python web/build.py
	@$(BIN)/python -m tests.servers.chromium
	@$(BIN)/python -m tests.servers.containers
	@$(BIN)/python -m tests.servers.mariadb

# Format, lint, types and the import contracts; the pages' types where what they are built with is installed.
check: $(VENV)/.dev
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python web/build.py --check

# Where we stand against a floor and a peer, measured in the same run.
bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.gateway $(ARGS)

# The protocol's own suite, against the gateway in front of a server that has everything.
conformance: $(VENV)/.dev
	@$(BIN)/python -m tests.conformance $(ARGS)

# A virtual environment with everything the other targets need.
setup: $(VENV)/.dev

clean:
	rm -rf $(VENV) .demo .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist web/node_modules web/build src/pegboard/surfaces/web/pages

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Pegboard needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

# pip itself and what builds the package, held to hashes like all else: nothing is fetched by a build of its own. The
# setuptools that Python 3.11 puts into an environment are old, and nothing here needs them.
$(VENV)/.build: $(BIN)/python requirements/build.txt
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(BIN)/python -m pip --disable-pip-version-check --quiet uninstall --yes setuptools 2>/dev/null
	@touch $@

$(VENV)/.run: $(VENV)/.build requirements/run.txt pyproject.toml
	@echo "Installing what Pegboard needs (once, about a minute) …"
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.semantic: $(VENV)/.run requirements/semantic.txt
	@echo "Installing what search by meaning needs (once) …"
	@$(PIP) --require-hashes -r requirements/semantic.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	@echo "Installing what the tests need (once, about a minute) …"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@
