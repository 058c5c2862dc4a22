package rtl

import (
	"slices"
	"strings"
)

// instrumentation lists prefixes of the names of functions that compilers insert to observe a program:
// sanitizers and profilers. They may be linked into the executable.
var instrumentation = []string{
	"__asan_", "__tsan_", "__ubsan_handle_", "__msan_", "__hwasan_", "__sanitizer_", "__gcov_", "__llvm_profile_",
	"__llvm_gcov_",
}

// profilers lists the functions that functions call first in code built for a profiler.
var profilers = []string{"mcount", "_mcount", "__fentry__"}

// Instrumentation reports whether compilers insert calls of the named function to observe a program: it does not
// affect the program's locks, conditions or threads.
func Instrumentation(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(profilers, name) ||
		slices.ContainsFunc(instrumentation, func(p string) bool { return strings.HasPrefix(name, p) })
}

// watchedReads lists prefixes of the names of functions that record the reads and writes of the program's own
// instructions, or its position.
var watchedReads = []string{
	"__tsan_read", "__tsan_unaligned_read", "__tsan_write", "__tsan_unaligned_write", "__tsan_func_", "__tsan_vptr_",
	"__sanitizer_cov_trace_",
}

// ReadsFor returns the size of the value that the named function of the thread sanitizer reads atomically at its
// first argument and returns; 0 for other functions.
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
