# SPDX-License-Identifier: Apache-2.0
# A thin door to CMake and the scripts. `make demo` and `make test` are all that a fresh Debian 12 machine needs.
.PHONY: all build demo test test-all check-sanitizers format lint docs install clean help
MAKEFLAGS += --no-print-directory

all: build

help:
	@sed -n 's/^## //p' Makefile

## make build              the program, the libraries and the tests, in build/
build:
	@scripts/install-dependencies build
	@cmake --preset dev > /dev/null
	@cmake --build --preset dev

## make demo               compiles the demo network, simulates it, prints accuracy and cycles
demo: build
	@scripts/demo

## make test               builds and runs every test that needs no large download
test: build
	@scripts/install-dependencies test || echo "npuc: the tests of the Python package will be skipped"
	@scripts/run-tests build -LE extra

## make test-all           also the tests that need ../shared or Python packages (kept in build/venv)
test-all: build
	@scripts/install-python build/venv
	@scripts/run-tests build

## make check-sanitizers   unit tests under ASan + UBSan, the threaded ones under TSan
check-sanitizers:
	@scripts/install-dependencies build
	@scripts/check-sanitizers

## make format             applies .clang-format to every C file
format:
	@scripts/install-dependencies lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i

## make lint               formatting, clang-tidy and cppcheck: no finding allowed
lint: build
	@scripts/install-dependencies lint
	@scripts/lint build

## make docs               writes the generated pages of docs/ again
docs: build
	@scripts/gen-docs build

## make install            PREFIX=/usr/local, DESTDIR=
PREFIX ?= /usr/local
install:
	@scripts/install-dependencies build
	@cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" > /dev/null
	@cmake --build --preset release
	@DESTDIR="$(DESTDIR)" cmake --install build-release

clean:
	rm -rf build build-release build-asan build-tsan build-clang
