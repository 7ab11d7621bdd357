# SPDX-License-Identifier: Apache-2.0
# Thin: everything happens in scripts/ and in the CMake presets.
.PHONY: build demo lab test test-all lint format install clean

PREFIX ?= $(CURDIR)/install

build:
	@scripts/setup --for demo
	@cmake --preset release
	@cmake --build --preset release

demo:
	@scripts/setup --for demo
	@cmake --preset release
	@cmake --build --preset release --target halocline_cli
	@gpus=$$(build/release/bin/halocline --version --verbose | grep -c '^  GPU [0-9]'); \
	  ranks=$$((gpus > 0 ? gpus : 2)); set -x; \
	  build/release/bin/halocline solve laplace --cells 256x128 --ranks $$ranks --verify --output demo.png
	@echo "The solution: $(CURDIR)/demo.png"

lab:
	@scripts/setup --for demo
	@cmake --preset release
	@cmake --build --preset release --target halocline_lab

test:
	@scripts/setup --for test
	@scripts/test

test-all:
	@scripts/setup --for test-all
	@scripts/test all

lint:
	@scripts/lint --tidy-seconds 0

format:
	@scripts/format

install: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build demo.png
