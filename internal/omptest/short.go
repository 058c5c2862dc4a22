package omptest

import "testing"

// Needs skips a test in a short run (go test -short), which is for machines that have
// nothing but Go: what says the program, the package or the right that the test needs.
func Needs(tb testing.TB, what string) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("not in a short run: it needs %s", what)
	}
}
