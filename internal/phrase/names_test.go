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

func TestShortName(t *testing.T) {
	const cName = "a_function_of_C_that_has_a_very_long_name_and_neither_parameters_nor_arguments_in_it"
	const vector = "std::vector<double, std::allocator<double> > const&"
	const long = vector + ", " + vector
	for _, c := range [][2]string{
		{"", ""},
		{"step(double*, int)", "step(double*, int)"},
		{"step(" + long + ")", "step(…)"},
		{"void run<" + long + ">(int)", "void run<…>(…)"},
		{"Grid<double>::relax<Body<" + long + "> >(" + long + ")", "Grid<double>::relax<…>(…)"},
		{"Body::operator()(" + long + ") const", "Body::operator()(…)"},
		{"std::ostream& operator<< <" + long + ">(int)", "std::ostream& operator<< <…>(…)"},
		{cName, cName},
		{"run<(" + long + ")", "run<(" + long + ")"}, // damaged
	} {
		if got := phrase.ShortName(c[0]); got != c[1] {
			t.Errorf("%q is %q, want %q", c[0], got, c[1])
		}
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"":                                       "",
		"main":                                   "main",
		"hold(int, double const*)":               "hold",
		"void run<int>(int)":                     "run<int>",
		"unsigned long Bank<int>::sum<a b>(c d)": "Bank<int>::sum<a b>",
		"void (anonymous namespace)::run<void (*)(int)>(void (*)(int))": "(anonymous namespace)::run<void (*)(int)>",
		"std::ostream& operator<< <int>(std::ostream&, int)":            "std::ostream& operator<< <int>",
		"bool operator< <int>(A<int>, A<int>)":                          "bool operator< <int>",
		"Body::operator()(int) const":                                   "Body::operator()",
		"Bank::operator bool() const":                                   "Bank::operator bool",
	} {
		if got := phrase.PlainName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
