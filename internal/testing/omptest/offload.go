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
// Debian 12 has (14, 15, 16, 19), with more flags. It returns the program and its runtime. The devices are those of a
// plugin of LLVM's offloading library.
func CompileOffload(t *testing.T, major int, source string, flags ...string) (exe string, runtime Runtime) {
	t.Helper()
	Needs(t, "compilers")
	runtime = RuntimeOf(t, major)
	dir := t.TempDir()
	link := func(name, to string) { must(t, os.Symlink(to, filepath.Join(dir, name))) }
	NeedsMore(t, fmt.Sprintf("clang %d with its tools", major))
	root := fmt.Sprintf("usr/lib/llvm-%d/", major)
	packager := "clang-offload-packager"
	if major < 15 {
		packager = "clang-offload-wrapper"
	}
	for _, name := range []string{"clang-linker-wrapper", "clang-offload-bundler", packager} {
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
	case major >= 19: // with the plugins inside
		library = filepath.Join(runtime.Dir, fmt.Sprintf("libomptarget.so.%d.1", major))
		link("libomptarget.devicertl.a", filepath.Join(lib, "libomptarget.devicertl.a"))
	case major >= 15:
		library = filepath.Join(runtime.Dir, fmt.Sprintf("libomptarget.so.%d", major))
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
