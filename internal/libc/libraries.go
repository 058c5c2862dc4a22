package libc

import (
	"path"
	"slices"
	"strings"
)

// systemLibraries are the parts of the C library and the loader, without what follows
// in the names of their files: ".so.6", or "-2.31.so" before glibc 2.34. musl is its
// own loader, ld-musl-x86_64.so.1, which systems also call libc.musl-x86_64.so.1.
var systemLibraries = []string{"libc", "libm", "libpthread", "libdl", "librt", "ld", "ld64", "linux-vdso"}

// languageLibraries come with compilers. They know nothing of the program's locks.
var languageLibraries = []string{
	"libstdc++", "libc++", "libc++abi", "libgcc_s", "libunwind", "libgfortran", "libquadmath", "libatomic",
}

// IsSystem reports whether the file at a path is the C library's, the loader's or the
// kernel's. Both the program and its runtimes call these to wait, so that their frames
// do not tell who called.
func IsSystem(file string) bool {
	base := path.Base(file)
	return base == "[vdso]" || slices.ContainsFunc(systemLibraries, func(l string) bool {
		rest, ok := strings.CutPrefix(base, l)
		return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-"))
	})
}

// IsLanguage reports whether the file at a path is a library that comes with compilers.
func IsLanguage(file string) bool {
	base := path.Base(file)
	return slices.ContainsFunc(languageLibraries, func(l string) bool { return strings.HasPrefix(base, l+".") })
}

// threadStarts are the functions in which threads begin: their frames are the
// outermost ones, and have no tables for a caller.
var threadStarts = []string{"clone", "clone3", "__clone", "__clone3", "__clone_internal"}

// StartsThread reports whether a function is one in which threads begin.
func StartsThread(function string) bool { return slices.Contains(threadStarts, function) }

// StartsProgram reports whether a function is one of those that call main.
func StartsProgram(function string) bool {
	return function == "_start" || strings.HasPrefix(function, "__libc_start")
}
