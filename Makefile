# ompd-inspect: `make` prints what there is.
GO ?= go
BIN := bin/ompd-inspect
CC ?= gcc
CSTRICT := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror $(CFLAGS)
LIBOMPD := bin/libompd.so
CONFORM := bin/ompd-conform
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo devel)
# Debian packages: compilers, a debugger, and the tools that tests compare with.
PACKAGES := clang-14 clang-16 clang-19 libomp-16-dev flang-19 llvm-16 lld-16 gcc g++ gfortran libc6-dev gdb gdbserver binutils dwz zstd lz4 xz-utils
TEST_TIMEOUT := 25m
# Results are not cached: tests look at processes thousands of times, and go test would
# note, and look at again, each file of /proc that was read.
TEST := $(GO) test -count=1
BENCHTIME ?= 20x
# Directories of tests that have functions of some kind.
having = $$(grep -rl --include='*_test.go' '^func $(1)' . | xargs -n1 dirname | sort -u)

.PHONY: help build libompd.so ompd-conform deps demo test bench soak generate lint fuzz clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z.-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

build: ## build bin/ompd-inspect, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(BIN) ./cmd/ompd-inspect

libompd.so: build ## build bin/libompd.so, OMPD's C library for debuggers (needs gcc)
	$(CC) $(CSTRICT) -fPIC -shared -DVERSION='"$(VERSION)"' -Wl,-soname,libompd.so -Wl,-z,defs,-z,now -o $(LIBOMPD) libompd/*.c -ldl -lpthread

ompd-conform: ## build bin/ompd-conform, a test of OMPD libraries (the test of internal/oracle runs it)
	@mkdir -p bin
	$(CC) $(CSTRICT) -Wno-clobbered -Wno-uninitialized -o $(CONFORM) libompd/conform/*.c -ldl -lpthread

deps: ## install the Debian packages that demo and test need
	@missing=; for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "install by hand:$$missing" >&2; exit 1; fi; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	echo "installing:$$missing"; \
	$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null

demo: deps build ## make a hanging OpenMP program's core and inspect it
	testdata/demo/run.sh $(BIN)

test: deps ## run all tests (programs are built and dumped on the way)
	$(TEST) -timeout $(TEST_TIMEOUT) -parallel 4 ./...

matrix: deps ## run all tests on every combination of compiler and runtime (about an hour)
	OMPD_FULL=1 $(TEST) -timeout 2h ./...

bench: deps build ## time the tool against gdb on the same cores, and its parts (BENCHTIME=20x)
	$(TEST) -timeout $(TEST_TIMEOUT) -run '^$$' -bench . -benchtime $(BENCHTIME) $(call having,Benchmark)

soak: deps ## look at busy programs 10,000 times, 3,000 times for verdicts, and kill the tool at it 1,000 times
	OMPD_SOAK_ROUNDS=10000 OMPD_KILL_ROUNDS=1000 OMPD_VERDICT_ROUNDS=3000 $(TEST) -timeout 2h -v -run '^(TestSoak|TestKilled|TestNoFalseAlarms)$$' ./cmd/ompd-inspect

lint: ## gofmt, go vet and staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

generate: ## make the Go code of proto/ompd/v1 anew (a test says when)
	$(GO) generate ./proto/ompd/v1

fuzz: ## fuzz each parser for a while (FUZZTIME=30s)
	@for p in $(call having,Fuzz); do \
	  for f in $$(grep -h -o '^func Fuzz[A-Za-z0-9_]*' $$p/*_test.go | cut -c6-); do \
	    $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),30s) $$p || exit 1; done; done

clean: ## remove what build made
	rm -rf bin
