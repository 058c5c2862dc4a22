// Package oracle holds the tests that ask LLVM's own libompd.so the questions
// that package ompd answers, on the same cores.
//
// A small program (testdata/ompdhost.c) loads the library and lets the test call
// it; its callbacks are answered from the core by this module. The symbols that
// the stripped runtimes of distributions lack are supplied from the description
// that the runtime keeps of itself in its memory. Each answer of libompd must
// equal ours, or be in the table of its known defects (known_test.go); an entry
// of that table that no answer needs any more fails the test, too.
package oracle
