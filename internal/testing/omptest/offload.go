package omptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CompileOffload compiles a C program with target regions for devices that are the host, by clang 19, with more flags.
// It returns the program and its runtime. The devices are those of a plugin of LLVM's offloading library.
func CompileOffload(t *testing.T, source string, flags ...string) (exe string, runtime Runtime) {
	t.Helper()
	Needs(t, "compilers")
	runtime = RuntimeOf(t, 19)
	dir := t.TempDir()
	link := func(name, to string) { must(t, os.Symlink(to, filepath.Join(dir, name))) }
	NeedsMore(t, "clang 19 with its tools")
	const tools, dev = "usr/lib/llvm-19/bin/", "usr/lib/llvm-19/lib/"
	for _, name := range []string{"clang-linker-wrapper", "clang-offload-packager"} {
		link(name, PackageFile(t, "clang-tools-19", tools+name))
	}
	link("clang", "/usr/lib/llvm-19/bin/clang") // which the wrapper expects in its own directory
	link("libomp.so", filepath.Join(runtime.Dir, "libomp.so.5"))
	link("libomptarget.so", filepath.Join(runtime.Dir, "libomptarget.so.19.1"))
	link("libomptarget.devicertl.a", PackageFile(t, "libomp-19-dev", dev+"libomptarget.devicertl.a"))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	header := filepath.Dir(PackageFile(t, "libomp-19-dev", dev+"clang/19/include/omp.h"))
	exe = filepath.Join(dir, "program")
	args := append([]string{"-g", "-O1", "-pthread", "-o", exe, source, "-B" + dir, "-fopenmp",
		"-fopenmp-targets=x86_64-pc-linux-gnu", "-L" + dir, "-I" + header}, flags...)
	if text, err := exec.Command(Program(t, "clang-19"), args...).CombinedOutput(); err != nil {
		t.Fatalf("clang-19 %v: %v\n%s", args, err, text)
	}
	runtime.Dir = dir + ":" + runtime.Dir // libomptarget looks for libomp.so, to inform it of tools
	return exe, runtime
}
