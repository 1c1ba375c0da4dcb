# Everything happens in .venv, which is made on first use. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_STAMP := $(VENV)/.torch-installed
BENCH_STAMP := $(VENV)/.bench-installed
DASK_STAMP := $(VENV)/.dask-installed
RESULTS := benchmarks/results

# The lowest versions that pyproject.toml allows, in an environment of their own.
LOWEST := .venv-lowest
LOWEST_PYTHON ?= $(or $(shell command -v python3.11),$(PYTHON))
LOWEST_TESTS := tests/test_functional.py tests/kernels/test_half_precision.py tests/arrays tests/acl/test_samples.py \
	tests/precision tests/cli/test_check.py tests/cli/test_compare.py tests/cli/test_explain.py tests/cli/test_run.py \
	tests/cli/test_support.py tests/cli/test_view.py tests/blocks tests/dask_arrays tests/zarr_stores

# Tests that "make test" leaves out are asked for by name.
SEPARATE := --override-ini=addopts="--import-mode=importlib -ra"
TWO_AT_A_TIME := --numprocesses 2 --dist worksteal
MINUTES ?= 5

.PHONY: help demo test test-lowest test-torch test-dask test-dask-large test-large test-kernels test-first-calls \
	test-interpreters test-baseline test-stock-compiler test-browser test-capi-faults test-capi-sanitizers \
	test-capi-soak bench bench-quick bench-sweep bench-dask bench-instructions check docs wheel clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

demo: $(STAMP) ## the documents' sample calls, with their results next to the expected ones
	$(BIN)/python examples/demo.py

test: $(STAMP) ## every operator through every door
	@tools/need g++ cmake
	$(BIN)/python -m pytest $(TWO_AT_A_TIME)

# Made anew each time: what these versions bring along is always the newest.
test-lowest: ## tests of all that other packages do for us, with the lowest versions that pyproject.toml allows
	@tools/need g++
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST_PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	@echo "installing the lowest versions into $(LOWEST) ..."
	@PIP_CONSTRAINT=$(LOWEST)/constraints.txt \
		$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,dask]"
	POOLGRAD_CACHE_DIR=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/python -m pytest $(TWO_AT_A_TIME) $(SEPARATE) \
		-p no:cacheprovider $(LOWEST_TESTS)

test-torch: $(TORCH_STAMP) ## the tests against torch 2.13.0, which is installed for them
	$(BIN)/python -m pytest tests/torch_oracle $(SEPARATE)

test-dask: $(DASK_STAMP) ## Dask arrays, also on a cluster of processes that die, and Zarr stores, also damaged ones
	$(BIN)/python -m pytest tests/dask_arrays tests/zarr_stores $(SEPARATE)

test-dask-large: $(DASK_STAMP) ## six gigabytes through workers of one (three minutes; needs 12 GB of disk and 4 of memory)
	$(BIN)/python -m pytest tests/dask_large $(SEPARATE) --capture=no

test-large: $(STAMP) ## memory bounds on tensors of gigabytes (needs 8 GB of memory)
	$(BIN)/python -m pytest tests/large $(SEPARATE)

test-kernels: $(STAMP) ## every way of every kernel by itself, bit by bit, in scratch between guards
	$(BIN)/python -m pytest tests/kernels $(TWO_AT_A_TIME) $(SEPARATE)

test-first-calls: $(STAMP) ## what is compiled once and kept: fresh, damaged, shared and foreign caches
	$(BIN)/python -m pytest tests/first_calls $(TWO_AT_A_TIME) $(SEPARATE)

test-interpreters: $(STAMP) ## the wheel in empty environments of every Python on this machine that it is made for
	@tools/need g++
	$(BIN)/python -m pytest tests/interpreters $(TWO_AT_A_TIME) $(SEPARATE)

test-browser: $(STAMP) ## the report's page in a real Chromium
	@tools/need chromium chromedriver=chromium-driver
	$(BIN)/python -m pytest tests/browser $(SEPARATE)

test-capi-faults: $(STAMP) ## C programs that end badly, fork, lack memory, files or a server
	@tools/need g++
	$(BIN)/python -m pytest tests/capi/faults $(TWO_AT_A_TIME) $(SEPARATE)

test-capi-sanitizers: $(STAMP) ## the C library under ASan, LSan, UBSan, TSan and valgrind
	@tools/need g++ valgrind
	$(BIN)/python -m pytest tests/capi/sanitizers $(TWO_AT_A_TIME) $(SEPARATE)

test-capi-soak: $(STAMP) ## many C programs at once, killed at random, for MINUTES=5
	@tools/need g++
	PYTHONPATH=tests $(BIN)/python -m capi.soak --minutes $(MINUTES)

bench: $(BENCH_STAMP) ## against torch and the memory limit (15 minutes); renews the documents' tables and plots
	$(BIN)/python -m benchmarks --json $(RESULTS)/latest.json
	$(BIN)/python -m benchmarks plot $(RESULTS)/latest.json
	$(BIN)/python tools/make_docs.py

bench-sweep: $(BENCH_STAMP) ## 1000 random shapes against torch, other ones each time (15 minutes); SEED=7 draws some again, SEEDS=3 more
	$(BIN)/python -m benchmarks sweep $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) --json $(RESULTS)/sweep.json
	$(BIN)/python tools/make_docs.py

bench-quick: $(BENCH_STAMP) ## the same with fewer cases (two minutes), kept apart in quick.json
	$(BIN)/python -m benchmarks --quick --json $(RESULTS)/quick.json

bench-dask: $(DASK_STAMP) $(BENCH_STAMP) ## Dask against a plain loop over chunks (two minutes); renews the documents' table
	$(BIN)/python -m benchmarks dask $(RESULTS)/dask.json
	$(BIN)/python tools/make_docs.py

test-baseline: $(STAMP) ## the kernels' tests with the CPU's features masked to the x86-64 baseline
	NUMBA_CPU_NAME=x86-64 NUMBA_CPU_FEATURES= $(BIN)/python -m pytest $(TWO_AT_A_TIME) $(SEPARATE) \
		tests/kernels/test_paths.py tests/kernels/test_max_paths.py tests/kernels/test_half_precision.py

# In a cache of their own: what the usual way compiled would not be compiled again.
test-stock-compiler: $(STAMP) ## tests of kernels of every family as Numba's stock compiler makes them
	POOLGRAD_STOCK_COMPILER=1 POOLGRAD_CACHE_DIR=$(CURDIR)/$(VENV)/stock-cache $(BIN)/python -m pytest $(TWO_AT_A_TIME) \
		$(SEPARATE) tests/kernels/test_forward.py tests/kernels/test_half_precision.py tests/kernels/test_stopping.py

check: $(STAMP) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench-instructions: $(STAMP) ## count instructions per element (ten minutes); renews the documents' table
	@tools/need valgrind
	$(BIN)/python -m benchmarks instructions $(RESULTS)/instructions.json
	$(BIN)/python tools/make_docs.py

docs: $(STAMP) ## regenerate the tables in the documents from the contract and the last benchmark
	$(BIN)/python tools/make_docs.py

wheel: $(STAMP) ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## remove the virtual environment and everything built
	rm -rf $(VENV) $(LOWEST) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "poolgrad needs Python 3.11 or newer as $(PYTHON): install the package python3 (3.11+), or run make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "$(PYTHON) can't make virtual environments: install the package python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "installing poolgrad and its development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(TORCH_STAMP): $(STAMP)
	@echo "installing torch 2.13.0 into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	@touch $@

$(BENCH_STAMP): $(STAMP)
	@echo "installing torch 2.13.0 and matplotlib into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

$(DASK_STAMP): $(STAMP)
	@echo "installing Dask and Zarr into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dask]"
	@touch $@
