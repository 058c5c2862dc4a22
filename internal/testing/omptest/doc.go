// Package omptest builds and runs the real programs that the tests of this module inspect.
//
// It builds the OpenMP programs of testdata/programs with clang, downloads the OpenMP runtimes of several
// releases of Debian, and runs a program on the requested runtime. It returns a core (written by the kernel or by
// gcore) or the live process, together with the results of omp_get_* in the program's own threads before they
// reached their positions: see [Truth].
//
// All results are kept in a cache directory ($OMPD_CACHE, or ompd-inspect in the user's cache directory) under a
// hash of all inputs, so that a second run of the tests is cheap. Several test processes may use the cache at the
// same time.
//
// A missing prerequisite fails the test with the command that installs it. Only a short run (go test -short),
// which needs only Go, and a quick one ($OMPD_QUICK, for make test), which needs few packages, skip tests: see
// [Needs], [NeedsMore] and [Program].
package omptest
