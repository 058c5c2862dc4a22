package symbolic

import (
	"slices"
	"strings"
)

// noReturn contains functions of the C library, of language libraries and of compilers that do not return to
// their caller. Functions of the longjmp family continue in another function of the stack, and exceptions in a
// handler.
var noReturn = map[string]bool{
	"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true,
	"pthread_exit": true, "thrd_exit": true,
	"__assert_fail": true, "__assert_perror_fail": true, "__assert": true,
	"__stack_chk_fail": true, "__stack_chk_fail_local": true, "__chk_fail": true, "__fortify_fail": true,
	"err": true, "errx": true, "verr": true, "verrx": true,
	"longjmp": true, "_longjmp": true, "siglongjmp": true, "__longjmp_chk": true, "setcontext": true,

	"_ZSt9terminatev": true, "_ZSt10unexpectedv": true, "__cxa_pure_virtual": true, "__cxa_deleted_virtual": true,
	"__cxa_throw": true, "__cxa_rethrow": true, "__cxa_bad_cast": true, "__cxa_bad_typeid": true,
	"__cxa_throw_bad_array_new_length": true, "__cxa_throw_bad_array_length": true,
	"__cxa_call_unexpected": true, "__cxa_call_terminate": true,
	"__clang_call_terminate": true, "_Unwind_Resume": true,
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE": true, // GNU's
	"_ZSt17rethrow_exceptionSt13exception_ptr":                    true, // LLVM's

	"_gfortran_runtime_error": true, "_gfortran_runtime_error_at": true,
	"_gfortran_os_error": true, "_gfortran_os_error_at": true,
	"_gfortran_stop_numeric": true, "_gfortran_stop_string": true,
	"_gfortran_error_stop_numeric": true, "_gfortran_error_stop_string": true,
	"_gfortran_exit_i4": true, "_gfortran_exit_i8": true, "_gfortran_abort": true,
}

// returnsTwice contains the functions that return a second time when another call jumps there.
var returnsTwice = []string{"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "getcontext"}

// NoReturn reports whether the function with that name does not return to its caller. The name may have a symbol
// version.
func NoReturn(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	// std::__throw_length_error and similar functions, and those of libc++ in its own namespace.
	return noReturn[name] || strings.HasPrefix(name, "_ZNSt3__1") && strings.Contains(name, "__throw_") ||
		strings.HasPrefix(name, "_ZSt") && strings.Contains(name, "__throw_") || sanitizerEnds(name)
}

// sanitizerEnds reports whether sanitized code calls the function to end the program on an error. Variants that
// continue have a suffix.
func sanitizerEnds(name string) bool {
	switch {
	case strings.HasSuffix(name, "_noabort"):
		return false
	case strings.HasPrefix(name, "__asan_report_"), strings.HasPrefix(name, "__hwasan_report_"):
		return true
	}
	return strings.HasPrefix(name, "__ubsan_handle_") &&
		(strings.HasSuffix(name, "_abort") || name == "__ubsan_handle_builtin_unreachable")
}

// ReturnsTwice reports whether the function with that name belongs to the setjmp family.
func ReturnsTwice(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(returnsTwice, name)
}
