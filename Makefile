# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. JOBS=N sets how many jobs a build may run.
JOBS ?= $(shell nproc)
# Tests may use this many processes at once.
TEST_JOBS ?= 2
# `make SETUP=true build` trusts you to have installed what tools/setup would.
SETUP ?= tools/setup

.DEFAULT_GOAL := build
.PHONY: help setup build demo test python test-python site wheel bench bench-native bench-peers format lint clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

setup: ## Debian packages and a virtual environment with torch, where they are missing
	@$(SETUP)

build: setup ## the program, build/release/kasimir (the default)
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/release --parallel $(JOBS)

demo: build ## a short search on Fashion-MNIST, a table and a report
	@tools/demo

test: python ## all tests; the last line counts them
	@$(SETUP) test
	@tools/test build/release --parallel $(TEST_JOBS)

python: build ## the Python package in build/release/python, which PYTHONPATH takes
	@$(SETUP) python
	@cmake -DKASIMIR_PYTHON_PACKAGE=ON build/release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/release --parallel $(JOBS) --target _kasimir

test-python: python ## the tests of the Python package alone
	@ctest --test-dir build/release --label-regex python --output-on-failure --no-tests=error

site: build ## the documentation as pages in build/site
	@tools/site/setup
	@tools/site/build build/release/kasimir build/site-venv/bin/python3 build/site

wheel: ## the Python package as a wheel in build/dist, tried in an environment of its own
	@$(SETUP) python
	@tools/wheel

bench: build ## how fast legal kernels are found, and how varied they are
	build/release/kasimir bench sampler

bench-peers: build ## other frameworks on our networks: make bench-peers PEERS='--network resnet20 --batch 1'
	@tools/peers/setup
	@tools/peers/run.py $(PEERS)

bench-native: build ## our C beside the other frameworks: make bench-native NATIVE='--network resnet20 --batch 1'
	@tools/peers/setup
	@tools/peers/bench_native.py $(NATIVE)

format: ## rewrites the C++ files by .clang-format
	@$(SETUP) lint
	@tools/lint --format

lint: ## layers, format, clang-tidy of the changed files (of all with ALL=1)
	@$(SETUP) lint
	@tools/lint $(if $(ALL),--all)

clean: ## removes what was built; virtual environments stay
	@find build -mindepth 1 -maxdepth 1 ! -name venv ! -name peers ! -name site-venv -exec rm -rf {} + 2>/dev/null || true
