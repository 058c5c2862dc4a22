# ompd-inspect: `make` prints the list of targets.
GO ?= go
BIN := bin/ompd-inspect
CC ?= gcc
# Debug information contains no path of the build machine, so the build ID, a hash of all, does not depend on it.
CSTRICT := -std=gnu11 -D_GNU_SOURCE -O2 -g -ffile-prefix-map=$(CURDIR)=. -Wall -Wextra -Werror $(CFLAGS)
LIBOMPD := bin/libompd.so
CONFORM := bin/ompd-conform
COMPARE := bin/ompd-compare
RECORDER := bin/libompd-recorder.so
# Callbacks call no function of the C library, so the compiler must not replace a loop by such a call.
CRECORDER := -fPIC -fvisibility=hidden -fno-tree-loop-distribute-patterns -fno-stack-protector
# The version of a release, as v1.2.3: the tag of this commit. Other builds have that of the Go module. In a clone, both
# have the commit.
VERSION ?= $(filter-out %-dirty,$(shell git describe --tags --match 'v[0-9]*' --dirty --exact-match 2>/dev/null))
# The C libraries have it, too, and in other builds the name of the commit.
CVERSION = $(or $(VERSION),$(shell git describe --tags --always --dirty 2>/dev/null),unknown)
LDFLAGS := -s -w $(if $(VERSION),-X main.release=$(VERSION))
# Debian packages of `make test`, and those that all other tests need in addition: compilers of other
# releases and languages, and the tools that tests compare with.
PACKAGES := gcc g++ gdb clang-16 lld-16 libomp-16-dev
MORE_PACKAGES := clang-14 clang-19 clang-22 libclang-rt-16-dev flang-19 llvm-16 gfortran gdbserver dwz zstd lz4 xz-utils patchelf strace python3 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user mold bash-completion zsh fish debootstrap lintian rpm
# The packages with the longest tests. They start first, so that at the end no processor waits for one
# of them.
LONGEST := ./internal/testing/e2e/... ./internal/testing/oracle ./live ./gdb ./internal/runtime/libgomp ./internal/runtime/libomp ./internal/runtime/libomp/locate ./server
# Results are not cached: tests look at processes thousands of times, and go test would record and
# recheck each file of /proc that was read. `make lint` runs go vet. Debug information would take half
# of the time to link the tests. A matrix takes hours and has no time limit.
TESTFLAGS := -count=1 -timeout 0 -vet off -ldflags=-w
TEST := $(GO) test $(TESTFLAGS)
# Prints and counts the results of go test; with SUM=FILE, it appends both numbers to a file. A package of the daily
# tests takes at most three minutes on two processors, and half an hour at a load of 30: one that takes an hour hangs, and
# shows where.
TESTRUN = $(GO) run ./internal/testing/testrun $(addprefix -sum ,$(SUM)) $(RESUMING) -- $(TESTFLAGS) -timeout 60m
# The jobs of `make test-all`.
JOBS := $(shell awk '!/^\#/ && NF { print $$1 }' .ci/jobs | uniq)
# Packages with data that goroutines or threads share.
RACING := ./client ./corefile ./internal/front/clib ./internal/front/piped ./live ./internal/target/remote ./server
BENCHTIME ?= 20x
FUZZTIME ?= 100s
FUZZJOBS ?= 1
# Directories with test functions of a kind.
having = $$(grep -rl --include='*_test.go' '^func $(1)' . | xargs -n1 dirname | sort -u)

.PHONY: install tarball packages help build libompd.so libompd-recorder.so ompd-conform ompd-compare deps deps-all demo test test-all $(addprefix test-,$(JOBS)) short emulated arm64 race matrix bench sanitize lint audit generate fuzz clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile
	@echo "  make test-JOB run one job of test-all: $(JOBS)"
	@echo "  $(GO) run ./internal/testing/campaign: list the campaigns, which take minutes to hours"

build: ## build bin/ompd-inspect, one static binary
	CGO_ENABLED=0 $(GO) build -buildvcs=true -trimpath -ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/ompd-inspect

libompd.so: build ## build bin/libompd.so, OMPD's C library for debuggers (needs gcc)
	$(CC) $(CSTRICT) -fPIC -shared -DVERSION='"$(CVERSION)"' -Wl,-soname,libompd.so -Wl,-z,defs,-z,now -o $(LIBOMPD) libompd/*.c -ldl -lpthread

libompd-recorder.so: ## build bin/libompd-recorder.so, which records what an OpenMP program does (needs gcc)
	@mkdir -p $(dir $(RECORDER))
	$(CC) $(CSTRICT) $(CRECORDER) -shared -DVERSION='"$(CVERSION)"' -Wl,-soname,libompd-recorder.so -Wl,-z,defs,-z,now -o $(RECORDER) recorder/*.c recorder/legacy/*.c -lpthread

# The target directory of `make install`, and the strip of the compiler. DESTDIR is a prefix of PREFIX, for packages.
PREFIX ?= /usr/local
DESTDIR ?=
STRIP ?= strip
INSTALLED = $(abspath $(DESTDIR)/$(PREFIX))
# The paths of runtimes in distributions; gdb loads the commands with these.
AUTOLOAD := lib/x86_64-linux-gnu/libgomp.so.1.0.0 lib64/libgomp.so.1.0.0 lib64/libomp.so \
	$(foreach n,14 15 16 17 18 19 20 21 22 23,lib/llvm-$(n)/lib/libomp.so.5)

install: build libompd.so libompd-recorder.so ompd-compare ## install all below DESTDIR=, PREFIX=/usr/local (needs gcc)
	install -d $(INSTALLED)/bin $(INSTALLED)/lib/ompd-inspect $(INSTALLED)/share/ompd-inspect/gdb/ompd_gdb $(INSTALLED)/share/doc/ompd-inspect
	install -m 755 $(BIN) $(INSTALLED)/bin/ompd-inspect
	install -m 644 $(LIBOMPD) $(INSTALLED)/lib/ompd-inspect/libompd.so
	install -m 644 $(RECORDER) $(INSTALLED)/lib/ompd-inspect/libompd-recorder.so
	install -m 755 $(COMPARE) $(INSTALLED)/lib/ompd-inspect/ompd-compare
	$(STRIP) --strip-unneeded $(INSTALLED)/lib/ompd-inspect/*.so $(INSTALLED)/lib/ompd-inspect/ompd-compare
	install -m 644 gdb/ompd_inspect.py gdb/autoload.py $(INSTALLED)/share/ompd-inspect/gdb
	install -m 644 gdb/ompd_gdb/*.py $(INSTALLED)/share/ompd-inspect/gdb/ompd_gdb
	install -m 644 internal/target/delve/omp.star $(INSTALLED)/share/ompd-inspect
	for f in $(AUTOLOAD); do \
	  install -d $(INSTALLED)/share/gdb/auto-load/usr/$${f%/*} && \
	  ln -sfr $(INSTALLED)/share/ompd-inspect/gdb/autoload.py $(INSTALLED)/share/gdb/auto-load/usr/$$f-gdb.py || exit 1; \
	done
	GOOS= GOARCH= CGO_ENABLED=0 $(GO) run -trimpath ./internal/packaging/manual -version "$(CVERSION)" $(INSTALLED)/share
	install -m 644 LICENSE README.md CHANGELOG.md $(INSTALLED)/share/doc/ompd-inspect
	cd tools && GOOS= GOARCH= $(GO) run ./thirdparty -licences $(INSTALLED)/share/doc/ompd-inspect/THIRD-PARTY $(abspath $(BIN))

# The output directory of `make tarball` and `make packages`. The same commit and compilers give the same bytes at any
# time and place: names are sorted, owners fixed, and all times are that of the commit.
DIST ?= dist
install tarball packages: export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
# The package version of a commit without a release sorts before all releases.
COMMITVERSION = $(or $(shell TZ=UTC git log -1 --format=0~git%cd.%h --date=format-local:%Y%m%d 2>/dev/null),0~unknown)
packages tarball: export PKGVERSION ?= $(or $(VERSION:v%=%),$(COMMITVERSION)$(if $(findstring -dirty,$(CVERSION)),+dirty))
RELEASE = ompd-inspect-$(PKGVERSION)-linux-amd64
TREE = $(abspath $(DIST))/tree/$(RELEASE)
# The maintainer of the packages.
packages: export MAINTAINER ?= The ompd-inspect authors <ompd-inspect@users.noreply.github.com>
# The output of xz depends on the number of threads.
XZ ?= xz -6 -T1
# nfpm is not a tool of the module tools: it would add fifty modules to its ten, including an implementation of git.
# Their later releases need a newer Go.
NFPM ?= GOOS= GOARCH= $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

tarball: ## pack the files of `make install` for amd64, with checksums and a bill of materials, into DIST=dist (needs gcc, xz)
	rm -rf $(DIST)/tree $(DIST)/build $(DIST)/package $(DIST)/ompd-inspect[-_]* $(DIST)/SHA256SUMS
	GOFLAGS= GOAMD64=v1 $(MAKE) install GOOS=linux GOARCH=amd64 DESTDIR=$(TREE) PREFIX=/ \
	  $(foreach v,BIN LIBOMPD RECORDER COMPARE,$(v)=$(abspath $(DIST))/build/$(notdir $($(v))))
	cd tools && GOOS= GOARCH= $(GO) run ./thirdparty -sbom $(abspath $(DIST))/$(RELEASE).cdx.json -version "$(or $(VERSION),$(PKGVERSION))" \
	  $(abspath $(DIST))/build/$(notdir $(BIN))
	chmod -R u=rwX,go=rX $(DIST)/tree
	find $(DIST)/tree -exec touch -h -d @$$SOURCE_DATE_EPOCH {} +
	tar -C $(DIST)/tree --format=ustar --sort=name --owner=0 --group=0 --numeric-owner -cf $(DIST)/$(RELEASE).tar $(RELEASE)
	$(XZ) $(DIST)/$(RELEASE).tar
	cd $(DIST) && sha256sum $(RELEASE)* >SHA256SUMS

# Debian requires compressed manual pages and changelogs, and its own changelog in addition to the program's.
packages: tarball ## make a .deb and an .rpm of the same files, in DIST=dist
	mkdir -p $(DIST)/package/man1
	cp $(TREE)/share/man/man1/* $(DIST)/package/man1
	cp CHANGELOG.md $(DIST)/package/changelog
	internal/packaging/changelog >$(DIST)/package/changelog.Debian
	gzip -9n $(DIST)/package/changelog* $(DIST)/package/man1/*
	ln -s $(TREE) $(DIST)/package/tree
	chmod -R u=rwX,go=rX $(DIST)/package
	find $(DIST)/package -exec touch -h -d @$$SOURCE_DATE_EPOCH {} +
	cp internal/packaging/copyright internal/packaging/overrides internal/packaging/nfpm.yaml $(DIST)/package
	cd $(DIST)/package && for kind in deb rpm; do \
	  GLIBC=$$($(CURDIR)/internal/packaging/glibc tree/lib/ompd-inspect/*) $(NFPM) package -f nfpm.yaml -p $$kind -t .. || exit 1; \
	done
	cd $(DIST) && sha256sum ompd-inspect[-_]* >SHA256SUMS

ompd-conform: ## build bin/ompd-conform, a test of OMPD libraries (the test of internal/testing/oracle runs it)
	@mkdir -p bin
	$(CC) $(CSTRICT) -Wno-clobbered -Wno-uninitialized -o $(CONFORM) libompd/conform/*.c -ldl -lpthread

ompd-compare: ## build bin/ompd-compare, which loads another OMPD library for `doctor --compare` (needs gcc)
	@mkdir -p $(dir $(COMPARE))
	$(CC) $(CSTRICT) -o $(COMPARE) libompd/compare/*.c -ldl

deps: ## install the Debian packages that `make test` needs
	@.ci/install $(PACKAGES)

deps-all: ## install the Debian packages that all tests need
	@.ci/install $(PACKAGES) $(MORE_PACKAGES)

demo: ## show the tool's output for a core file and, with gcc, for a program that hangs (does not install anything)
	@command -v $(GO) >/dev/null || { echo "install Go 1.26 or later: https://go.dev/dl"; exit 1; }
	@$(GO) list -m >/dev/null || { echo "install Go 1.26 or later, this is $$($(GO) env GOVERSION): https://go.dev/dl"; exit 1; }
	@$(MAKE) -s build
	@GO=$(GO) CC=$(CC) testdata/demo/run.sh $(CURDIR)/$(BIN)

# Without paths, a copy of the module, as tests make them, uses the build cache of the original.
test short: export GOFLAGS += -trimpath
# With RESUME=1, packages that have passed on the same sources, with the tests of the same day, do not run again.
test: RESUMING = $(if $(RESUME),-resume "bin/passed/$$(.ci/sources || date +%s)/test-$$(.ci/skip | cksum | cut -d ' ' -f 1)")
test: deps ## run the daily tests (6 minutes on two processors, 10 with an empty build cache): all that need only Go, most others, a part of the matrices
	@OMPD_QUICK=1 $(TESTRUN) -parallel 4 -skip "$$(.ci/skip)" $(LONGEST) ./...

test-all: deps-all ## run all tests, job by job; skip jobs that have passed on these sources
	@failed=; for job in $(JOBS); do .ci/job $$job unless-passed || failed="$$failed $$job"; done; \
	if [ -n "$$failed" ]; then echo "FAILED jobs:$$failed" >&2; exit 1; fi

$(addprefix test-,$(JOBS)): test-%: deps-all
	@.ci/job $*

short: ## run the tests that need only Go, without a compiler or debugger in PATH
	@.ci/bare $(TESTRUN) -short ./...

# Packages whose tests run for arm64 in an emulator: all that read a target, or draw conclusions from it.
EMULATED := ./callbacks/... ./corefile ./diagnose ./handles/... ./ompd/... ./trace ./internal/code/... ./internal/engine ./internal/image/... ./internal/inspect/... ./internal/lockflow/... ./internal/runtime/... ./internal/stack/... ./internal/trace/...

emulated: ## vet all packages for arm64, and run short tests of some in qemu-user (a few minutes; needs qemu-user)
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	GOARCH=arm64 CGO_ENABLED=0 $(TEST) -short -exec qemu-aarch64 $(EMULATED)

LANES ?= all
arm64: deps-all ## run programs and the tool in a system emulator for arm64 (LANES=libomp-16-O1 PROGRAMS=lock: only these)
	@.ci/install qemu-system-arm
	$(GO) run ./internal/testing/campaign arm64 -lanes $(LANES) -programs '$(PROGRAMS)'

race: deps ## run the tool once, and the tests of concurrent packages, with the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) build -race -o $(BIN)-race ./cmd/ompd-inspect
	$(BIN)-race testdata/golden/gnu-barrier/core.zst >/dev/null
	@CGO_ENABLED=1 $(TESTRUN) -parallel 4 -race $(RACING)

matrix: deps-all ## run all tests on every combination of compiler and runtime (about an hour)
	OMPD_FULL=1 OMPD_SUPPORT=$(CURDIR)/testdata/support.jsonl $(TEST) ./... ; status=$$?; \
	$(GO) generate ./internal/testing/e2e/docs && exit $$status

bench: deps-all build ## measure the tool and gdb on the same cores, and the tool's parts (BENCHTIME=20x)
	$(TEST) -run '^$$' -bench . -benchtime $(BENCHTIME) $(call having,Benchmark)

# The address and thread sanitizers do not fit the recorder. It writes into memory that it maps, and has no heap to
# check; the address sanitizer must also be loaded first, but a tool is not. Other processes read the memory, which
# the thread sanitizer cannot see. TestLibraryIsClean of `make test` runs libompd with the address sanitizer.
sanitize: deps-all ## run the tests of the recorder with the sanitizer of undefined behaviour
	CFLAGS="-fsanitize=undefined,bounds-strict -fno-sanitize-recover=all -static-libubsan" \
	$(TEST) ./internal/testing/recordtest

# gosec is not a tool of the module: it would add modules of four services of language models. It reads the packages that
# open files, start processes or listen. Not used are its rules on conversions (G115, G602: numbers of a target are
# bounded, and the parsers are fuzzed), on errors of Close and of buffered writers (G104), on paths and commands in
# variables (G204, G304: users name both, and names in targets go through internal/guard/files) and on unsafe (G103:
# arguments of system calls). A comment #nosec explains a single finding.
GOSEC ?= GOOS= GOARCH= $(GO) run github.com/securego/gosec/v2/cmd/gosec@v2.22.4
GOSECRULES := G103,G104,G115,G204,G304,G407,G602
EXPOSED := ./cmd/... ./client/... ./corefile/... ./live/... ./server/... ./internal/cli/... ./internal/front/... ./internal/guard/... ./internal/jobs/... ./internal/print/web/... ./internal/target/...
GOVULNCHECK ?= GOOS= GOARCH= $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4

lint: ## gofmt, go vet, nilness, staticcheck, errorlint, misspell and gosec
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) -C examples vet ./...
	$(GO) vet -vettool=$$($(GO) tool -n nilness) ./...
	$(GO) tool staticcheck ./...
	$(GO) tool go-errorlint ./...
	git ls-files | grep -v -e '\.zst$$' -e '\.png$$' -e '\.sum$$' -e '/testdata/fuzz/' | xargs $(GO) tool misspell -error -i rela
	$(GOSEC) -quiet -exclude-generated -exclude=$(GOSECRULES) $(EXPOSED)
	@echo "lint: nothing to say"

audit: ## list known vulnerabilities in the code that is used (needs the network)
	@out=$$($(GOVULNCHECK) ./... 2>&1); status=$$?; echo "$$out"; case "$$out" in \
	*"fetching vulnerabilities"*) echo "audit: nothing was checked: the database of vulnerabilities cannot be reached" \
	  "(GOVULNDB= names another, as file:///DIRECTORY)" >&2;; \
	esac; exit $$status

generate: ## generate the Go code of proto/ompd/v1 (a test fails if it is outdated)
	$(GO) generate ./proto/ompd/v1

fuzz: ## fuzz each parser for FUZZTIME, FUZZJOBS of them at once (an hour in all)
	@.ci/fuzz $(FUZZTIME) $(FUZZJOBS) $(call having,Fuzz)

clean: ## remove build outputs
	rm -rf bin dist
