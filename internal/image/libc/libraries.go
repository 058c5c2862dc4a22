package libc

import (
	"path"
	"slices"
	"strings"
)

// systemLibraries are the parts of the C library and the loader, without the suffixes of their
// files: ".so.6", or "-2.31.so" before glibc 2.34. musl is its own loader, ld-musl-x86_64.so.1,
// also called libc.musl-x86_64.so.1.
var systemLibraries = []string{"libc", "libm", "libpthread", "libdl", "librt", "ld", "ld64", "linux-vdso"}

// languageLibraries come with compilers. They do not use the program's locks.
var languageLibraries = []string{
	"libstdc++", "libc++", "libc++abi", "libgcc_s", "libunwind", "libgfortran", "libquadmath", "libatomic",
}

// sanitizers are the runtimes of instrumented code. They call the C library in place of the
// program, and do not use its locks.
var sanitizers = []string{"libasan", "libtsan", "libubsan", "liblsan", "libhwasan", "libclang_rt"}

// sanitizerCode are the prefixes of their functions, where they are linked into the executable.
var sanitizerCode = []string{
	"__asan", "__tsan", "__ubsan", "__lsan", "__hwasan", "__msan", "__sanitizer", "__interception", "__interceptor_",
	"___interceptor_",
}

// allocators replace the C library's. They do not use the program's locks either.
var allocators = []string{
	"libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc", "libtbbmalloc", "libtbbmalloc_proxy",
}

// IsSystem reports whether the file at a path is the C library's, the loader's or the kernel's.
// Both the program and its runtimes call these to wait, so their frames do not show the caller.
func IsSystem(file string) bool {
	base := path.Base(file)
	return base == "[vdso]" || slices.ContainsFunc(systemLibraries, func(l string) bool {
		rest, ok := strings.CutPrefix(base, l)
		return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-"))
	})
}

// IsLoader reports whether the file at a path is the dynamic loader.
func IsLoader(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.") || strings.HasPrefix(base, "ld64.")
}

// IsLanguage reports whether the file at a path is a library that comes with compilers, or an
// allocator.
func IsLanguage(file string) bool {
	return isOf(languageLibraries, file) || isOf(sanitizers, file) || isOf(allocators, file)
}

// IsSanitizer reports whether the file at a path is the runtime of a sanitizer.
func IsSanitizer(file string) bool { return isOf(sanitizers, file) }

// InSanitizer reports whether the function of that name is one of a sanitizer's runtime.
func InSanitizer(function string) bool {
	return slices.ContainsFunc(sanitizerCode, func(p string) bool { return strings.HasPrefix(function, p) })
}

// isOf reports whether the file at a path is a library of that list.
func isOf(list []string, file string) bool {
	base := path.Base(file)
	return slices.ContainsFunc(list, func(l string) bool { return strings.HasPrefix(base, l+".") })
}

// threadStarts are the first functions of threads: their frames are the outermost ones, and have no
// tables for a caller.
var threadStarts = []string{"clone", "clone3", "__clone", "__clone3", "__clone_internal"}

// StartsThread reports whether a function is the first one of threads.
func StartsThread(function string) bool { return slices.Contains(threadStarts, function) }

// ends are the functions of the C library that run code at the end of a thread, a program or a library, by their names
// without leading underscores.
var ends = []string{
	"exit", "quick_exit", "run_exit_handlers", "cxa_finalize", "dl_fini", "dl_call_fini", "dlclose", "pthread_exit",
	"nptl_deallocate_tsd", "call_tls_dtors",
}

// IsEnd reports whether a function of the C library runs code at the end of a thread, a program or a library. Its name
// has no leading underscores.
func IsEnd(function string) bool { return slices.Contains(ends, function) }

// waits are the prefixes of the C library's functions in which threads wait, and of those in which
// they start.
var waits = []string{
	"__futex_abstimed_wait", "__lll_lock_wait", "__lll_timed", "__pthread_", "pthread_", "__new_sem_", "sem_wait",
	"sem_timedwait", "sem_clockwait", "__sem_", "do_futex_wait", "__clock_nanosleep", "clock_nanosleep", "__nanosleep",
	"nanosleep", "start_thread", "clone3", "__clone", "clone",
}

// waitsExactly are further ones, by their whole names: on aarch64, runtimes wait in syscall, and threads start in
// thread_start.
var waitsExactly = []string{"syscall", "thread_start"}

// Waits reports whether the named function of the C library is one in which threads wait, or start.
// Use it only for programs into which the C library is linked: other programs may have functions of
// the same names.
func Waits(function string) bool {
	return slices.Contains(waitsExactly, function) ||
		slices.ContainsFunc(waits, func(p string) bool { return strings.HasPrefix(function, p) })
}

// StartsProgram reports whether a function is one of those that call main: in musl, libc_start_main_stage2.
func StartsProgram(function string) bool {
	return function == "_start" || strings.HasPrefix(function, "__libc_start") ||
		strings.HasPrefix(function, "libc_start_main")
}
