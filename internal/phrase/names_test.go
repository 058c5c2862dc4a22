package phrase_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

// checkNames compares the results of a function for names with the expected ones.
func checkNames(t *testing.T, shorten func(string) string, wanted map[string]string) {
	t.Helper()
	for name, want := range wanted {
		if got := shorten(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestWithoutParameters(t *testing.T) {
	checkNames(t, phrase.WithoutParameters, map[string]string{
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
	})
}

func TestShortName(t *testing.T) {
	const cName = "a_function_of_C_that_has_a_very_long_name_and_neither_parameters_nor_arguments_in_it"
	const vector = "std::vector<double, std::allocator<double> > const&"
	const long = vector + ", " + vector
	checkNames(t, phrase.ShortName, map[string]string{
		"":                            "",
		"step(double*, int)":          "step(double*, int)",
		"step(" + long + ")":          "step(…)",
		"void run<" + long + ">(int)": "void run<…>(…)",
		"Grid<double>::relax<Body<" + long + "> >(" + long + ")": "Grid<double>::relax<…>(…)",
		"Body::operator()(" + long + ") const":                   "Body::operator()(…)",
		"std::ostream& operator<< <" + long + ">(int)":           "std::ostream& operator<< <…>(…)",
		cName:                cName,
		"run<(" + long + ")": "run<(" + long + ")", // damaged
	})
}

func TestPlainName(t *testing.T) {
	checkNames(t, phrase.PlainName, map[string]string{
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
	})
}
