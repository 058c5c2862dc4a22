// Package oracle has the tests that ask LLVM's own libompd.so the questions that package ompd answers, on the
// same cores.
//
// A small program (testdata/ompdhost.c) loads the library and calls it for the test; this module answers its
// callbacks from the core. The symbols that the stripped runtimes of distributions lack come from the runtime's
// description of itself in its memory. Each answer of libompd must equal ours, or be in the table of its known
// defects (defects_test.go); an unneeded entry of that table fails the test, too.
package oracle
