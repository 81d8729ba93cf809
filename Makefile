# `make run` opens the app, `make test` checks everything, `make check` the fast half. All make the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PORT ?= 8501

.PHONY: run test check lint gpu-test bench clean

run: $(READY)
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: lint chromium
	$(BIN)/pytest -m "not gpu" -n 2

check: lint
	$(BIN)/pytest -m "not gpu and not slow and not browser" -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports --no-cache

gpu-test:
	$(PYTHON) -m pytest -m gpu -p no:cacheprovider

# Debian's browser, for the browser tests.
.PHONY: chromium
chromium:
	@test -x /usr/bin/chromium || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet $(PIP_OPTIONS) --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
