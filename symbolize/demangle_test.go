package symbolize

import "testing"

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
		{"__omp_offloading_fd02_1a2b_main_l12", "outlined", "main"},
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

func TestDemangle(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"main", "main"},
		{"_Z3fooi", "foo(int)"},
		{"_ZNSt6vectorIiSaIiEED4Ev", "std::vector<int, std::allocator<int> >::~vector()"},
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
		{"", ""},
	} {
		if got := Demangle(tt.name); got != tt.want {
			t.Errorf("Demangle(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
