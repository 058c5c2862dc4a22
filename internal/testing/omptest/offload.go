package omptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CompileOffload compiles a C program with target regions for devices that are the host, by clang of a release that
// Debian 12 has (14, 15, 16, 19, 22), with more flags. It returns the program and its runtime. The devices are those of
// a plugin of LLVM's offloading library.
func CompileOffload(t *testing.T, major int, source string, flags ...string) (exe string, runtime Runtime) {
	t.Helper()
	Needs(t, "compilers")
	runtime = RuntimeOf(t, pairedRuntime(major))
	dir := t.TempDir()
	link := func(name, to string) { must(t, os.Symlink(to, filepath.Join(dir, name))) }
	NeedsMore(t, fmt.Sprintf("clang %d with its tools", major))
	root := fmt.Sprintf("usr/lib/llvm-%d/", major)
	tools := []string{"clang-linker-wrapper", "clang-offload-bundler"}
	switch {
	case major >= 22: // of LLVM itself
		link("llvm-offload-binary", PackageFile(t, fmt.Sprintf("llvm-%d", major), root+"bin/llvm-offload-binary"))
	case major >= 15:
		tools = append(tools, "clang-offload-packager")
	default:
		tools = append(tools, "clang-offload-wrapper")
	}
	for _, name := range tools {
		link(name, PackageFile(t, fmt.Sprintf("clang-tools-%d", major), root+"bin/"+name))
	}
	link("clang", "/"+root+"bin/clang") // which the wrapper expects in its own directory
	link("libomp.so", filepath.Join(runtime.Dir, "libomp.so.5"))
	lib := PackageFile(t, fmt.Sprintf("libomp-%d-dev", major), root+"lib")
	headers, err := filepath.Glob(filepath.Join(lib, "clang/*/include/omp.h"))
	if err != nil || len(headers) != 1 {
		t.Fatalf("libomp-%d-dev has the headers %q", major, headers)
	}
	library := filepath.Join(lib, "libomptarget.so")
	switch {
	case major >= 22: // with the plugins inside
		library = PackageFile(t, fmt.Sprintf("liboffload-%d", major), root+"lib/"+offloadLibrary(major))
		link(filepath.Base(library), library)
	case major >= 19: // with the plugins inside
		library = filepath.Join(runtime.Dir, offloadLibrary(major))
		link("libomptarget.devicertl.a", filepath.Join(lib, "libomptarget.devicertl.a"))
	case major >= 15:
		library = filepath.Join(runtime.Dir, offloadLibrary(major))
		link(filepath.Base(library), library)
	}
	// The library looks for plugins in the directory that it was loaded from. Release 16 has them beside the runtime.
	for _, pattern := range []string{lib + "/%s.so", runtime.Dir + "/%s.*so.*"} {
		plugins, _ := filepath.Glob(fmt.Sprintf(pattern, "libomptarget.rtl.x86_64"))
		for _, plugin := range plugins {
			name, _, _ := strings.Cut(filepath.Base(plugin), ".so")
			if _, err := os.Stat(plugin); err == nil { // not a link to a file of another package
				link(name+".so", plugin)
			}
		}
	}
	link("libomptarget.so", library)
	clang := fmt.Sprintf("clang-%d", major)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	exe = filepath.Join(dir, "program")
	args := append([]string{"-g", "-O1", "-pthread", "-o", exe, source, "-B" + dir, "-fopenmp",
		"-fopenmp-targets=x86_64-pc-linux-gnu", "-L" + dir, "-I" + filepath.Dir(headers[0])}, flags...)
	if text, err := exec.Command(Program(t, clang), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", clang, args, err, text)
	}
	runtime.Dir = dir + ":" + runtime.Dir // libomptarget looks for libomp.so, to inform it of tools
	return exe, runtime
}

// pairedRuntime returns the release of LLVM's OpenMP runtime for programs of clang of a release: Debian 12 has no
// runtime of 22, and gives its programs that of 19.
func pairedRuntime(clang int) int {
	if clang == 22 {
		return 19
	}
	return clang
}

// offloadLibrary returns the name by which programs of a release load LLVM's offloading library.
func offloadLibrary(major int) string {
	switch {
	case major >= 18:
		return fmt.Sprintf("libomptarget.so.%d.1", major)
	case major >= 15:
		return fmt.Sprintf("libomptarget.so.%d", major)
	}
	return "libomptarget.so"
}

// OffloadRuntime returns a runtime for programs that [CompileOffload] built for release built, with LLVM's offloading
// library, its plugin for the host, and the OpenMP runtime of another release that has no compiler in Debian 12: 15, 17
// or 18.
func OffloadRuntime(tb testing.TB, built, major int) Runtime {
	tb.Helper()
	r := RuntimeOf(tb, major)
	lib, rest, _ := strings.Cut(r.Dir, ":")
	dir := tb.TempDir()
	link := func(name, pattern string) {
		files, _ := filepath.Glob(filepath.Join(lib, pattern))
		if len(files) == 0 {
			tb.Fatalf("the package of LLVM %d's runtime has no %s", major, pattern)
		}
		must(tb, os.Symlink(files[0], filepath.Join(dir, name)))
	}
	link(offloadLibrary(built), "libomptarget.so.*")
	link("libomptarget.rtl.x86_64.so", "libomptarget.rtl.x86_64.so.*")
	link("libomp.so.5", "libomp.so.5")
	link("libomp.so", "libomp.so.5")
	r.Dir = dir
	if rest != "" { // with the C library of another suite
		suite := otherSuites[major]
		llvm := fmt.Sprintf("libllvm%d", major)
		if major == 17 {
			llvm += "t64"
		}
		for _, name := range []string{llvm, "libstdc++6", "libgcc-s1"} {
			r.Dir += ":" + filepath.Join(suitePackage(tb, suite, name), "usr/lib/x86_64-linux-gnu")
		}
		r.Dir += ":" + rest
	}
	return r
}

// WithoutPlugins returns a runtime with LLVM's offloading library and the OpenMP runtime of another, in a directory of
// their own: the library finds no plugins.
func WithoutPlugins(tb testing.TB, r Runtime) Runtime {
	tb.Helper()
	dir := tb.TempDir()
	for part := range strings.SplitSeq(r.Dir, ":") {
		files, err := filepath.Glob(filepath.Join(part, "lib*.so*"))
		must(tb, err)
		for _, file := range files {
			name, target := filepath.Base(file), ""
			if strings.HasPrefix(name, "libomptarget.rtl.") {
				continue
			}
			target, err = filepath.EvalSymlinks(file)
			if err == nil {
				err = os.Symlink(target, filepath.Join(dir, name))
			}
			if err != nil && !os.IsExist(err) && !os.IsNotExist(err) {
				tb.Fatal(err)
			}
		}
	}
	r.Dir = dir
	return r
}
