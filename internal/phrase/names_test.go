package phrase_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

func TestWithoutParameters(t *testing.T) {
	for name, want := range map[string]string{
		"":                                       "",
		"main":                                   "main",
		"solve_":                                 "solve_",
		"blts(int, double (*) [13][13][5], int)": "blts",
		"Summary::~Summary()":                    "Summary::~Summary",
		"(anonymous namespace)::work(int)":       "(anonymous namespace)::work",
		"a::(anonymous namespace)::work(int) const":    "a::(anonymous namespace)::work",
		"void run<void (*)(int)>(void (*)(int))":       "void run<void (*)(int)>",
		"Body::operator()(int) const":                  "Body::operator()",
		"Body::operator<<(int)":                        "Body::operator<<",
		"bool operator< <int>(A<int>, A<int>)":         "bool operator< <int>",
		"main::{lambda(int)#1}::operator()(int) const": "main::{lambda(int)#1}::operator()",
		"step(int) [clone ._omp_fn.0]":                 "step",
		"std::function<int (long)>::operator()(long)":  "std::function<int (long)>::operator()",
	} {
		if got := phrase.WithoutParameters(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
