package symbolic

import "testing"

func TestNoReturn(t *testing.T) {
	for name, want := range map[string]bool{
		"abort": true, "exit@GLIBC_2.2.5": true, "__cxa_throw": true, "_ZSt20__throw_length_errorPKc": true,
		"_ZNSt3__120__throw_length_errorB8ne160000EPKc": true, "_ZSt4cout": false, "printf": false,
		"__asan_report_load8": true, "__asan_report_load8_noabort": false, "__asan_load8": false,
		"__hwasan_report_exception": true, "__ubsan_handle_add_overflow": false,
		"__ubsan_handle_add_overflow_abort": true, "__ubsan_handle_builtin_unreachable": true,
		"__tsan_func_exit": false,
	} {
		if got := NoReturn(name); got != want {
			t.Errorf("NoReturn(%q) = %v", name, got)
		}
	}
}
