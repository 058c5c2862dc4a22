# ompd-inspect: `make` prints what there is.
GO ?= go
BIN := bin/ompd-inspect
CC ?= gcc
CSTRICT := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror $(CFLAGS)
LIBOMPD := bin/libompd.so
CONFORM := bin/ompd-conform
RECORDER := bin/libompd-recorder.so
# Callbacks call no function of the C library, nor what the compiler would make of a loop.
CRECORDER := -fPIC -fvisibility=hidden -fno-tree-loop-distribute-patterns -fno-stack-protector
# What `ompd-inspect version` says: the next release, and the commit that was built.
VERSION ?= 0.1.0-dev$(addprefix +,$(shell git describe --always --dirty 2>/dev/null))
# gRPC's own tracing, which nothing here shows, is left out.
TAGS := grpcnotrace
LDFLAGS := -s -w -X main.version=$(VERSION)
# Debian packages: compilers, a debugger, and the tools that tests compare with.
PACKAGES := clang-14 clang-16 clang-19 libomp-16-dev libclang-rt-16-dev flang-19 llvm-16 lld-16 gcc g++ gfortran libc6-dev gdb gdbserver binutils dwz zstd lz4 xz-utils strace python3 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
TEST_TIMEOUT := 45m
# The packages whose tests take longest: they are begun with, so that none of them is
# what all processors but one wait for at the end.
LONGEST := ./internal/e2e ./internal/oracle ./live ./gdb ./rtl/libgomp ./rtl/libomp ./rtl/libomp/locate ./server
# Results are not cached: tests look at processes thousands of times, and go test would
# note, and look at again, each file of /proc that was read.
TEST := $(GO) test -count=1
# Tests look at processes as others schedule them. One that fails is run again by itself
# when the rest is done, with a core of its own, and named at the end even if it passes then:
# it is a defect still.
RERUN := $(GO) tool gotestsum --format standard-quiet --rerun-fails=2 --rerun-fails-max-failures=20
# Packages that many goroutines or threads share.
RACING := ./client ./corefile ./internal/clib ./internal/piped ./live ./remote ./server
BENCHTIME ?= 20x
# A browser, and VS Code for one, for `make editor-test`.
BROWSER ?= $(shell command -v chromium)
CODE_SERVER ?= $(shell command -v code-server)
# The directory of Neovim's plugin nvim-dap.
NVIM_DAP ?=
# The directory of Vim's plugin vim-go.
VIM_GO ?=
# Where `make applications` builds.
DIR ?= /tmp/ompd-inspect-applications
# How many random programs `make generated` makes, and the seed of the first one; the
# date chooses if there is none.
N ?= 10000
SEED ?= $(shell date +%s)
# Where it keeps those of which something is wrong, made small.
KEEP ?= /tmp/ompd-inspect-generated
# Which releases of LLVM `make ompd-suite` builds.
RELEASES ?= 19
FUZZTIME ?= 100s
FUZZJOBS ?= 1
DURATION ?= 10m
# Directories of tests that have functions of some kind.
having = $$(grep -rl --include='*_test.go' '^func $(1)' . | xargs -n1 dirname | sort -u)

.PHONY: help build libompd.so libompd-recorder.so ompd-conform deps demo test short race matrix generated applications bugs bench ompd-suite editor-test soak soak-server soak-recorder soak-states sanitize lint generate fuzz fuzz-cores clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z.-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

build: ## build bin/ompd-inspect, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/ompd-inspect

libompd.so: build ## build bin/libompd.so, OMPD's C library for debuggers (needs gcc)
	$(CC) $(CSTRICT) -fPIC -shared -DVERSION='"$(VERSION)"' -Wl,-soname,libompd.so -Wl,-z,defs,-z,now -o $(LIBOMPD) libompd/*.c -ldl -lpthread

libompd-recorder.so: ## build bin/libompd-recorder.so, which records what an OpenMP program does (needs gcc)
	@mkdir -p $(dir $(RECORDER))
	$(CC) $(CSTRICT) $(CRECORDER) -shared -DVERSION='"$(VERSION)"' -Wl,-soname,libompd-recorder.so -Wl,-z,defs,-z,now -o $(RECORDER) recorder/*.c -lpthread

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

test: deps ## run all tests (programs are built and dumped on the way); ends with the time of each package
	@.ci/timed $(RERUN) --packages="$(LONGEST) ./..." -- -count=1 -timeout $(TEST_TIMEOUT) -parallel 4

short: ## run the tests that need nothing but Go
	@.ci/timed $(TEST) -short ./...

race: deps ## run the tests of what has many goroutines with the race detector (needs gcc)
	@CGO_ENABLED=1 .ci/timed $(RERUN) --rerun-fails-abort-on-data-race --packages="$(RACING)" -- -count=1 -race -timeout $(TEST_TIMEOUT)

matrix: deps ## run all tests on every combination of compiler and runtime (about an hour)
	OMPD_FULL=1 $(TEST) -timeout 2h ./...

generated: deps ## hold the tool against N random programs (N=10000), the first of seed SEED
	OMPD_GENERATED=$(N) OMPD_SEED=$(SEED) OMPD_KEEP=$(KEEP) $(TEST) -timeout 12h -v -run '^TestGenerated$$' ./internal/generated

applications: N = 3000
applications: deps ## build real programs of others into DIR, and look at them N times while they run (needs network)
	testdata/applications/build.sh $(DIR)
	OMPD_APPLICATIONS=$(DIR) OMPD_APPLICATION_ROUNDS=$(N) $(TEST) -timeout 12h -v -run '^TestHealthyApplications$$' ./internal/e2e

bugs: deps ## put bugs into real programs of others, built into DIR, and hold the verdicts on them against what the bugs are (needs network)
	testdata/applications/build-bugs.sh $(DIR)
	OMPD_BUGS=$(DIR)/bugs $(TEST) -timeout 4h -v -run '^TestInjectedBugs$$' ./internal/e2e

bench: deps build ## time the tool against gdb on the same cores, and its parts (BENCHTIME=20x)
	$(TEST) -timeout $(TEST_TIMEOUT) -run '^$$' -bench . -benchtime $(BENCHTIME) $(call having,Benchmark)

ompd-suite: DIR = /tmp/ompd-inspect-ompd-suite
ompd-suite: libompd.so ## build LLVM's OMPD in DIR and run its own tests with LLVM's library and ours (RELEASES=19 18 17)
	testdata/ompd-suite/run.sh $(DIR) $(RELEASES)

soak: deps ## look at busy programs 20,000 times, 3,000 times for verdicts, 1,000 times in containers and under strace, and kill the tool at it 2,000 times
	OMPD_SOAK_ROUNDS=10000 OMPD_RESTLESS_ROUNDS=10000 OMPD_INSIDE_ROUNDS=250 OMPD_KILL_ROUNDS=1000 OMPD_VERDICT_ROUNDS=3000 \
	$(TEST) -timeout 2h -v -run '^(TestSoak|TestRestless|TestRestlessKilled|TestRestlessInside|TestKilled|TestNoFalseAlarms)$$' ./internal/e2e

soak-server: deps ## abuse a server for a while (DURATION=10m), on a unix socket and on the loopback, and say what it holds
	OMPD_SOAK_TIME=$(DURATION) $(TEST) -timeout 2h -v -run '^TestServerSoak$$' ./internal/e2e

soak-recorder: RECORDS = 1000000000
soak-recorder: deps ## read RECORDS records of 64 threads that write them, each millisecond: none torn, none unaccounted for
	OMPD_WRITERS_RECORDS=$(RECORDS) $(TEST) -timeout 2h -v -run '^TestWritersSoak$$' ./internal/recordtest

# The recorder writes into memory that it maps, and has no heap: what the address sanitizer watches is not there. That
# must be loaded before all others, too, which a tool is not. What it writes is read by other processes, of which the
# thread sanitizer knows nothing. Of libompd, TestLibraryIsClean of `make test` runs with the address sanitizer.
sanitize: deps ## run the tests of the recorder with the sanitizer of undefined behaviour
	CFLAGS="-fsanitize=undefined,bounds-strict -fno-sanitize-recover=all -static-libubsan" \
	$(TEST) -timeout $(TEST_TIMEOUT) ./internal/recordtest

soak-states: N = 100000
soak-states: deps ## look at recorded programs N times: states that are inferred are those that were recorded
	OMPD_STATE_ROUNDS=$(N) $(TEST) -timeout 24h -v -run '^TestRecordedStates$$' ./internal/e2e

lint: ## gofmt, go vet, staticcheck, errorlint and misspell
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) tool go-errorlint ./...
	git ls-files | grep -v -e '\.zst$$' -e '\.png$$' -e '\.sum$$' -e '/testdata/fuzz/' | xargs $(GO) tool misspell -error -i rela
	@echo "lint: nothing to say"

generate: ## make the Go code of proto/ompd/v1 anew (a test says when)
	$(GO) generate ./proto/ompd/v1

fuzz: ## fuzz each parser for FUZZTIME, FUZZJOBS of them at once (an hour in all)
	@.ci/fuzz $(FUZZTIME) $(FUZZJOBS) $(call having,Fuzz)

editor-test: ## package and test the extension for VS Code, and look at pages (needs npm, chromium, code-server)
	cd editors/vscode && npm ci && npm run package
	OMPD_BROWSER=$(BROWSER) OMPD_CODE_SERVER=$(CODE_SERVER) OMPD_NVIM_DAP=$(NVIM_DAP) OMPD_VIM_GO=$(VIM_GO) OMPD_EXTENSION=$(CURDIR)/editors/vscode \
	$(TEST) -timeout $(TEST_TIMEOUT) -v -run '^(TestBrowser.*|TestNvim.*|TestVimGo|TestEditor)$$' ./internal/web ./internal/cli ./internal/e2e

fuzz-cores: N = 100000
fuzz-cores: ## look at N cores that were changed on purpose, and count what went wrong
	OMPD_MUTANTS=$(N) OMPD_SEED=$(SEED) $(TEST) -timeout 24h -v -run '^TestMutants$$' ./internal/mutate

clean: ## remove what build made
	rm -rf bin
