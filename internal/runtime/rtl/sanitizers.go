package rtl

import (
	"slices"
	"strings"
)

// instrumentation begins the names of functions that compilers call from a program's code to
// watch it: sanitizers and profilers. They may be linked into the executable.
var instrumentation = []string{
	"__asan_", "__tsan_", "__ubsan_handle_", "__msan_", "__hwasan_", "__sanitizer_", "__gcov_", "__llvm_profile_",
	"__llvm_gcov_",
}

// profilers are the functions that code built for a profiler calls at its beginning.
var profilers = []string{"mcount", "_mcount", "__fentry__"}

// Instrumentation reports whether the function of that name is one by which a compiler has
// a program watched: it does nothing to locks, conditions or threads of the program's.
func Instrumentation(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(profilers, name) ||
		slices.ContainsFunc(instrumentation, func(p string) bool { return strings.HasPrefix(name, p) })
}

// watchedReads begin the names of functions that note what the program reads or writes by instructions of its own, or
// where it is.
var watchedReads = []string{
	"__tsan_read", "__tsan_unaligned_read", "__tsan_write", "__tsan_unaligned_write", "__tsan_func_", "__tsan_vptr_",
	"__sanitizer_cov_trace_",
}

// ReadsFor is the size of what a function of that name reads, atomically, at its first argument, and returns: the
// thread sanitizer's. 0 if it is none.
func ReadsFor(name string) uint8 {
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "__tsan_atomic8_load":
		return 1
	case "__tsan_atomic16_load":
		return 2
	case "__tsan_atomic32_load":
		return 4
	case "__tsan_atomic64_load":
		return 8
	}
	return 0
}
