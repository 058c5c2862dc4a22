// Package omptest is the bench of real programs that the tests of this module stand on.
//
// It builds the OpenMP programs of testdata/programs with clang, fetches the OpenMP runtimes that
// Debian ships side by side, runs a program on the runtime that is asked for, and hands back a core
// (written by the kernel or by gcore) or the living process, together with what the program's own
// threads were told by omp_get_* before they reached their places: see [Truth].
//
// Everything is kept in a cache directory ($OMPD_CACHE, or ompd-inspect in the user's cache
// directory) under a hash of all its inputs, so that a second run of the tests costs next to
// nothing. Several test processes may use the cache at the same time.
//
// What is missing makes the test fail with the command that fixes it. Only a short run (go test -short),
// which has nothing but Go, and a quick one ($OMPD_QUICK, for make test), which has few packages, skip
// tests: see [Needs], [NeedsMore] and [Program].
package omptest
