# make demo    set up what is needed, then instrument and run a kernel compiled there and then
# make test    set up what is needed, then pass every test
# make setup   the set-up alone: Debian packages, .venv, the native module
# make setup-rocm  Debian's ROCm as well, which `make test` runs HIP programs with
# make setup-rocm7  ROCm 7 from Debian's experimental suite, in a folder of its own: nothing of the system changes
# make setup-triton  Triton as well, whose kernels `make test` runs on the mock device
# make packages  what `make test` runs that comes from Debian: both ROCms, and what setup-tests installs
# make setup-tests  what some tests look at results with: Chromium, CMake, what executes notebooks, Perfetto's trace processor
# make driver  python/luthier/driver: the libraries that put ROCm on mock GPUs, and tools over programs
# make docs    target/site: the documentation as a site
# make bench   how fast things are, beside LLVM on the same input
# make wheel   dist/*.whl, LLVM inside, for glibc 2.28 and later
# make lint    formatting, clippy, ruff, type checkers (mypy with its stubtest, pyright), docstrings, cargo doc
# make clean   forget it all

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: docs setup packages setup-rocm setup-rocm7 setup-triton setup-tests driver demo test bench wheel lint lint-rust lint-python clean system

PYTHON ?= python3
BIN := .venv/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
# What cargo compiles of crates: their tests, examples and fuzzing are none of it.
crate_sources = $(foreach crate,$(1),$(wildcard crates/$(crate)/*.* crates/$(crate)/observers/* crates/$(crate)/children/*) \
	$(shell find $(wildcard $(addprefix crates/$(crate)/,src build tables)) -type f))
NATIVE_SOURCES := $(call crate_sources,abi features isa loader lifter codegen emulator python) \
	Cargo.toml Cargo.lock pyproject.toml .cargo/config.toml
export LLVM_SYS_221_PREFIX ?= /usr/lib/llvm-22

# maturin takes the backend of pyproject.toml, which calls it, for one that does not, and warns.
export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING := 1

# What stands beside the native module in the package, each part built when its own sources change.
PACKAGE := python/luthier
COMPANIONS := tools/backend/companions.py
DRIVER := $(PACKAGE)/driver
DRIVER_SOURCES := $(call crate_sources,driver abi features emulator isa loader) Cargo.toml Cargo.lock \
	$(COMPANIONS)

AGENT_SOURCES := $(call crate_sources,agent abi features) Cargo.toml Cargo.lock $(COMPANIONS)

EXAMPLES := $(PACKAGE)/examples
EXAMPLE_SOURCES := $(shell find examples -type f -not -path '*/__pycache__/*')

setup: .venv/native.stamp driver $(EXAMPLES)/nan_checker.py

setup-rocm: setup
	@tools/rocm-packages

setup-rocm7:
	@tools/rocm7-packages $(PACKAGES)

setup-triton: setup .venv/triton.txt

setup-tests: setup .venv/views.txt
	@tools/system-packages chromium cmake

# One after the other: apt serves one at a time. They need little of the processor, and go beside what does (.ci/run).
packages: system
	@tools/rocm-packages
	@tools/rocm7-packages $(PACKAGES)
	@tools/system-packages chromium cmake

driver: $(DRIVER)/libhsakmt.so.1 $(DRIVER)/libluthier-agent.so

system:
	@tools/system-packages

.venv/requirements.txt: pyproject.toml | system
	$(PYTHON) -m venv .venv
	$(BIN)/python tools/requirements.py pyproject.toml dev > $@.new
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement $@.new
	mv $@.new $@

.venv/triton.txt: pyproject.toml | .venv/requirements.txt
	$(BIN)/python tools/requirements.py pyproject.toml triton-tests > $@.new
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement $@.new
	mv $@.new $@

.venv/views.txt: pyproject.toml | .venv/requirements.txt
	$(BIN)/python tools/requirements.py pyproject.toml view-tests > $@.new
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement $@.new
	mv $@.new $@

.venv/native.stamp: .venv/requirements.txt $(NATIVE_SOURCES) | system
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --quiet >/dev/null
	touch $@

$(DRIVER)/libhsakmt.so.1: $(DRIVER_SOURCES) | system
	$(PYTHON) $(COMPANIONS) $(PACKAGE) driver

$(DRIVER)/libluthier-agent.so: $(AGENT_SOURCES) | system
	$(PYTHON) $(COMPANIONS) $(PACKAGE) agent

$(EXAMPLES)/nan_checker.py: $(EXAMPLE_SOURCES) $(COMPANIONS)
	$(PYTHON) $(COMPANIONS) $(PACKAGE) examples

demo: setup
	mkdir -p $(TARGET)/demo
	clang-22 -x hip --cuda-device-only -nogpuinc -nogpulib --offload-arch=gfx90a --no-gpu-bundle-output -O3 \
		tests/kernels/vecadd.hip -o $(TARGET)/demo/vecadd.hsaco
	$(BIN)/luthier run $(TARGET)/demo/vecadd.hsaco --kernel vecadd --grid 1024 --block 256 \
		--arg 'buf:f32[1000]=arange' --arg 'buf:f32[1000]=ones' --arg 'buf:f32[1000]=zeros' --arg u32=1000 \
		--tool instr_count --tool opcode_hist --strict

# The hook compiler's feature is named as the native module names it: its crate is compiled once.
TESTED := --workspace --exclude luthier-python --no-default-features --features luthier-codegen/llvm

# Tests start thousands of processes, each of which would compile what it imports.
test: export PYTHONDONTWRITEBYTECODE :=
test: setup setup-rocm setup-rocm7 setup-triton setup-tests
	cargo test --release --quiet $(TESTED) --tests
	cargo test --release --quiet $(TESTED) --doc
	$(BIN)/pytest --quiet --numprocesses auto

docs: .venv/requirements.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup
	$(BIN)/python tools/bench

wheel: setup
	rm -rf dist
	$(BIN)/python tools/wheel dist
	ls -l dist

lint: setup
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-rust lint-python

# With --release clippy and rustdoc take the macros and the generated code that `setup` has compiled.
lint-rust:
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
		cargo doc --release --workspace --no-deps --document-private-items --quiet

lint-python:
	$(BIN)/ruff check python tests tools
	$(BIN)/ruff format --check python tests tools
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest luthier._core
	$(BIN)/basedpyright
	$(BIN)/pydoclint --quiet python/luthier

clean:
	rm -rf target .venv dist .pytest_cache python/luthier/*.so $(DRIVER) $(EXAMPLES)
