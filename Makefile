# Two commands: `make demo` shows what adequa does, `make test` checks everything.
# Both set up .venv by themselves and reuse it the next time.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint types imports browser tests fresh docs documents release-check format \
        benchmark campaign clean

DEMO := adequa score -t examples/fluent.txt examples/literal.txt examples/broken.txt \
        -r examples/reference.txt -m adequa bleu chrf ter

demo: $(VENV)/.base
	@echo '$$ $(DEMO)'
	@$(BIN)/$(DEMO)

test: lint types imports tests fresh

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports --no-logo

# Tests run side by side, one file a core: with threads of their own they would wait for one another.
# The tests of a file share servers, clusters and folders, and run in one process.
tests: export OMP_NUM_THREADS = 1
tests: $(VENV)/.dev browser
	$(BIN)/pytest -n auto --dist loadfile

# Tests of reports want a browser. Where we may install one, as in a container of Debian, we do;
# elsewhere they skip, and say what they lack.
APT := env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=30 \
       -o Acquire::Retries=0 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15
browser:
	@command -v chromium || command -v google-chrome || command -v chromium-browser || \
	    { test "$$(id -u)" = 0 && command -v apt-get && timeout 60 $(APT) update && \
	      timeout 240 $(APT) install -y --no-install-recommends chromium; } > /dev/null 2>&1 || \
	    echo "There is no browser and none can be installed: tests of reports in a browser skip."

# As users have it: installed, not from the source folder, and with nothing but what it asks for.
fresh: $(VENV)/.created
	@rm -rf build/fresh
	@$(BIN)/python -m venv build/fresh
	@build/fresh/bin/python -m pip --disable-pip-version-check --quiet install .
	@cd build && fresh/bin/python ../tests/fresh_environment.py

# The documentation site. The tests build it, too; any warning, such as a dead link, is an error.
docs: $(VENV)/.docs
	@mkdir -p build/pages
	$(BIN)/sphinx-build -q -W --keep-going -E -a -c docs build/pages build/site
	@echo "The site is in build/site/index.html."

# Writes what the console examples in the documents print now into the documents.
documents: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python tests/documented_code.py

# Builds sdist and wheel into dist/ and checks them as PyPI does.
release-check: $(VENV)/.dev
	$(BIN)/python tools/release.py

# Damaged inputs for readers and loaders, for so many minutes; `make test` runs a few hundred.
MINUTES ?= 1
campaign: $(VENV)/.dev
	cd tests && RUST_BACKTRACE=0 ../$(BIN)/python -m campaign --minutes $(MINUTES)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

benchmark: $(VENV)/.dev
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/svr_grid.py
	$(BIN)/python benchmarks/tree_lstm.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/mbr.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "adequa needs Python 3.10 or newer; name one with make PYTHON=..."; exit 1; }
	@echo "Setting up $(VENV), this once ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.created pyproject.toml
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.docs: $(VENV)/.base constraints-dev.txt
	@$(PIP) install --constraint constraints-dev.txt --editable '.[docs]'
	@touch $@

# The oracles that tests compare with are large and want little of what they declare.
$(VENV)/.dev: $(VENV)/.base constraints-dev.txt requirements-oracles.txt
	@echo "Installing what the tests need ..."
	@$(PIP) install --constraint constraints-dev.txt --editable '.[dev]'
	@$(PIP) install --no-deps --requirement requirements-oracles.txt
	@touch $@
