package symbolize

import (
	"strings"
	"testing"
)

func TestConstruct(t *testing.T) {
	for _, tt := range []struct{ linkage, kind, parent string }{
		{"main.omp_outlined", "parallel", "main"},
		{".omp_outlined.", "parallel", ""},
		{".omp_outlined..3", "parallel", ""},
		{".omp_outlined._debug__", "parallel", ""},
		{".omp_outlined._debug__.4", "parallel", ""},
		{"main.omp_outlined.7", "parallel", "main"},
		{"main.omp_outlined_debug__", "parallel", "main"},
		{"main.omp_outlined_debug__.omp_outlined_debug__.1", "parallel", "main"},
		{"foo(int).omp_outlined_debug__", "parallel", "foo(int)"},
		{"_Z3fooi.omp_outlined", "parallel", "foo(int)"},
		{"_ZN4grid4stepEdPd.omp_outlined_debug__.omp_outlined.2", "parallel", "grid::step(double, double*)"},
		{".omp_task_entry.", "task", ""},
		{".omp_task_entry..12", "task", ""},
		{".omp_task_privates_map.", "task", ""},
		{"main._omp_fn.0", "outlined", "main"},
		{"_Z3fooi._omp_fn.1", "outlined", "foo(int)"},
		{"__heat_MOD_solve._omp_fn.0", "outlined", "heat::solve"},
		{"MAIN__._omp_fn.0", "outlined", "main program"},
		{"main._omp_cpyfn.3", "outlined", "main"},
		{"_QMheatPsolve..omp_par", "outlined", "heat::solve"},
		{"_QQmain..omp_par.1", "outlined", "main program"},
		{"__omp_offloading_fd02_1a2b_main_l12", "target", "main"},
		{"__omp_offloading_fd02_1a2b__Z3fooi_l7.omp_outlined", "parallel", "foo(int)"},
		{"main", "", ""},
		{"omp_outlined", "", ""},
		{"__omp_offloading_", "", ""},
		{"", "", ""},
	} {
		if kind, parent := Construct(tt.linkage); kind != tt.kind || parent != tt.parent {
			t.Errorf("Construct(%q) = %q, %q; want %q, %q", tt.linkage, kind, parent, tt.kind, tt.parent)
		}
		if want := tt.linkage == ".omp_task_entry." ||
			tt.linkage == ".omp_task_entry..12"; IsTaskEntry(tt.linkage) != want {
			t.Errorf("IsTaskEntry(%q) is not %v", tt.linkage, want)
		}
	}
}

// TestIsDebugTwin distinguishes the functions that clang makes of a construct with -g, also of one in another.
func TestIsDebugTwin(t *testing.T) {
	const target = "__omp_offloading_fe00_a1_solve_l4"
	for name, want := range map[string]bool{
		".omp_outlined.":                                  false,
		".omp_outlined._debug__.4":                        true,
		"solve.omp_outlined_debug__":                      true,
		"solve.omp_outlined_debug__.omp_outlined":         false,
		"solve.omp_outlined_debug__.omp_outlined_debug__": true,
		target:                           false,
		target + "_debug__":              true,
		target + "_debug__.omp_outlined": false,
		"write_debug__":                  false,
	} {
		if got := IsDebugTwin(name); got != want {
			t.Errorf("IsDebugTwin(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestOutlinedName shortens names of clang 19, which have a mark for each construct.
func TestOutlinedName(t *testing.T) {
	const target = "__omp_offloading_fe00_a20217_"
	for name, want := range map[string]string{
		target + "solve_l4_debug__.omp_outlined":                        "solve.omp_outlined",
		target + "solve_l4_debug__.omp_outlined_debug__.omp_outlined":   "solve.omp_outlined",
		target + "_Z3fooi_l7.omp_outlined_debug__.omp_outlined_debug__": "foo(int).omp_outlined",
		target + "solve_l4":              target + "solve_l4",
		"main.omp_outlined":              "main.omp_outlined",
		".omp_outlined._debug__":         ".omp_outlined._debug__",
		"__omp_offloading_.omp_outlined": "__omp_offloading_.omp_outlined",
		"main":                           "main",
	} {
		if got := OutlinedName(name); got != want {
			t.Errorf("OutlinedName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDemangle(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"main", "main"},
		{"_Z3fooi", "foo(int)"},
		{"_ZNSt6vectorIiSaIiEED4Ev", "std::vector<int>::~vector()"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"__heat_MOD_solve", "heat::solve"},
		{"__kmpc_fork_call", "__kmpc_fork_call"},
		{"_QMbankElocks", "bank::locks"},
		{"_QMheatPsolve", "heat::solve"},
		{"_QMheatPsolvePinner", "heat::solve::inner"},
		{"_QMheatSimplFhostPinner", "heat::impl::host::inner"},
		{"_QFPinner", "inner"},
		{"_QPsub", "sub"},
		{"_QQmain", "main program"},
		{"_Quick", "_Quick"},
		{"foo_", "foo_"},
		{"_Z", "_Z"},
		// clang 19: template <class V, class F, enable_if_t<!is_same_v<V, int>, int> = 0> void decode(V *, long, F &)
		{"_Z6decodeI3symiTnNSt9enable_ifIXntsr3std7is_sameIT_iEE5valueEiE4typeELi0EEvPS2_lRT0_", "decode"},
		{"_Z5setTnP3symS0_", "setTn(sym*, sym*)"},
		{"", ""},
	} {
		if got := Demangle(tt.name); got != tt.want {
			t.Errorf("Demangle(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestShortName shortens names of both C++ libraries, and leaves others unchanged.
func TestShortName(t *testing.T) {
	const str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	const llvm = "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >"
	for _, tt := range []struct{ name, want string }{
		{"f(" + str + " const&, int)", "f(std::string const&, int)"},
		{"f(" + llvm + "&)", "f(std::string&)"},
		{"std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::size() const",
			"std::wstring::size() const"},
		{"std::vector<" + str + ", std::allocator<" + str + " > >::at(unsigned long)",
			"std::vector<std::string>::at(unsigned long)"},
		{"g(std::map<" + str + ", std::vector<int, std::allocator<int> >, std::less<" + str + " >, " +
			"std::allocator<std::pair<" + str + " const, std::vector<int, std::allocator<int> > > > >*)",
			"g(std::map<std::string, std::vector<int> >*)"},
		{"h(std::unique_ptr<T, std::default_delete<T> >)", "h(std::unique_ptr<T>)"},
		{"std::set<int, std::greater<int>, std::allocator<int> >::~set()",
			"std::set<int, std::greater<int> >::~set()"},
		{"std::vector<int, pool<int> >::~vector()", "std::vector<int, pool<int> >::~vector()"},
		{"own<int, std::allocator<int> >::f()", "own<int, std::allocator<int> >::f()"},
		{"std::ostream& operator<< <" + str + ">(std::ostream&)",
			"std::ostream& operator<< <std::string>(std::ostream&)"},
		{"a<std::b>::operator<(a<std::b> const&)::{lambda(int)#1}::operator()<" + str + ">(int) const",
			"a<std::b>::operator<(a<std::b> const&)::{lambda(int)#1}::operator()<std::string>(int) const"},
		{"f<(3>2), std::x>()", "f<(3>2), std::x>()"},
		{"std::f<", "std::f<"},
		{"std::f<a>>", "std::f<a>>"},
		{strings.Repeat("std::a<", 99) + strings.Repeat(">", 99), strings.Repeat("std::a<", 99) +
			strings.Repeat(">", 99)},
	} {
		if got := shortName(tt.name); got != tt.want {
			t.Errorf("shortName(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzShortName(f *testing.F) {
	f.Add("std::vector<int, std::allocator<int> >::operator[](unsigned long)")
	f.Add("std::a<(1>2)>::operator<< <std::b>")
	f.Fuzz(func(t *testing.T, name string) {
		if got := shortName(name); len(got) > 2*len(name) {
			t.Errorf("shortName(%q) = %q, which is longer", name, got)
		}
	})
}
