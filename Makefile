# Everything from a fresh clone with Python 3.11+ and make. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# All of them but spark: its client and the pyspark of the tests are the same modules.
EXTRAS := dev docs bench

.PHONY: help demo demo-spark test quick lint types tools bench bench-check attack mutants soak fuzz fuzz-desk docs pictures lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 13

$(VENV)/.ready: lock/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Discreet needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) -V 2>&1). Set PYTHON=…"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the environment (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r lock/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

env: $(VENV)/.ready ## the environment in .venv/

demo: $(VENV)/.ready ## a census to play with
	@$(BIN)/discreet demo --port $(PORT) --folder var/demo

demo-spark: $(VENV)/.ready ## a census of 3 million built, counted and served through Spark Connect
	@$(BIN)/python scripts/demo_spark.py --folder var/demo-spark --port $(PORT)

tools: ## system packages the tests need: a browser, PostgreSQL and Java
	@test -x /usr/bin/chromium || test -x "$$DISCREET_CHROMIUM" || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing chromium …"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	  else \
	    echo "The tests need a browser: install the package chromium, or set DISCREET_CHROMIUM"; \
	    echo "to the path of a Chromium or Chrome that is there."; exit 1; \
	  fi; }
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing postgresql …"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	  else \
	    echo "The tests need PostgreSQL: install the package postgresql."; exit 1; \
	  fi; }

	@command -v java >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing openjdk-17-jre-headless …"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null; \
	  else \
	    echo "The tests need Java 17 for Spark: install the package openjdk-17-jre-headless."; exit 1; \
	  fi; }

lint: $(VENV)/.ready ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

test: $(VENV)/.ready tools lint ## lint, types and all tests
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

quick: $(VENV)/.ready lint ## lint, types and the fast tests, under 90 seconds
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

docs: $(VENV)/.ready ## the documentation as a site in site/
	@$(BIN)/python scripts/write_commands.py
	@$(BIN)/python scripts/write_python.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

bench: $(VENV)/.ready ## speed beside other programs, written to docs/benchmarks.md
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check cell-key-perturbation==3.1.0
	@for name in measures methods study pretabular base optimisers adjustment adjustment_moderate suppression redesign questions ledger first tabulate scans growth server workers timing engines; do (cd benchmarks && ../$(BIN)/python $$name.py) || exit 1; done

bench-check: $(VENV)/.ready ## fails where CPU beside DuckDB's fell by a fifth since it was filed
	@cd benchmarks && ../$(BIN)/python check.py

attack: $(VENV)/.ready ## what attackers learn under each preset, written to docs/ (an hour or two)
	@cd benchmarks && ../$(BIN)/python attacks.py && ../$(BIN)/python spreads.py && ../$(BIN)/python ordinary.py && ../$(BIN)/python frontier.py

mutants: $(VENV)/.ready ## put faults into the program and see that tests notice (half an hour)
	@$(BIN)/python scripts/mutants/run.py --jobs $(JOBS) --results var/mutants.jsonl

soak: $(VENV)/.ready tools ## ten minutes of users, builds, kills and a database that fails
	@$(BIN)/python tests/soaking.py --database postgresql

fuzz: $(VENV)/.ready ## a million odd questions for the parser
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0
	@$(BIN)/python scripts/fuzz_questions.py
	@cd scripts && ../$(BIN)/python fuzz_atheris.py

fuzz-desk: $(VENV)/.ready ## random tables through every tool of the desk, judged by plain twins
	@$(BIN)/python benchmarks/fuzz_desk/run.py --write

pictures: $(VENV)/.ready ## draw the pictures of the documents anew
	@for script in scripts/draw_*.py; do $(BIN)/python $$script || exit 1; done

lock: ## write the pinned lock files anew (needs uv)
	@mkdir -p lock
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate pyproject.toml -o lock/small.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate --extra desk --extra server pyproject.toml -o lock/run.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate --extra server --extra postgres --extra sign-on pyproject.toml -o lock/server.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate $(EXTRAS:%=--extra %) pyproject.toml -o lock/dev.txt

clean: ## remove what make made, the environment aside
	@rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis var
