package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestKernels checks the stacks of threads in functions in assembly language without unwind tables: the frame of each
// has its callers up to main.
func TestKernels(t *testing.T) {
	kernels := []string{"kernel_fixed", "kernel_aligned", "kernel_pushed", "kernel_calling"}
	for _, b := range []omptest.Build{
		{Compiler: omptest.GCC, Flags: []string{"-O0", "-g"}}, {Compiler: omptest.GCC, Flags: []string{"-O2", "-g"}},
		{Flags: []string{"-O0", "-g"}}, {Flags: []string{"-O2", "-g"}},
	} {
		b.Program = "kernels"
		rt := omptest.RuntimeOf(t, 16)
		if b.Compiler == omptest.GCC {
			rt = omptest.Libgomp(t)
		}
		t.Run(string(b.Compiler)+b.Flags[0], func(t *testing.T) {
			r := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Kernel})
			pic := e2e.Report(t, r.Core)
			for n, name := range kernels {
				i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return e2e.IntOf(th.ThreadNum) == n })
				if i < 0 {
					t.Fatalf("no thread %d", n)
				}
				th := &pic.Threads[i]
				at := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool { return f.Function == name })
				if at < 0 || at+1 == len(th.UserStack) || th.UserStack[at+1].Function != "run" ||
					th.UserStack[len(th.UserStack)-1].Function != "main" || len(th.Errors) > 0 {
					t.Errorf("%s: %+v, %q", name, th.UserStack, th.Errors)
				}
			}
		})
	}
}

// TestKernelsOfBLAS checks the stacks in products of matrices by OpenBLAS, with its kernels for several processors.
// Most have no unwind tables. Each stack ends in the program's main, in two looks at each.
func TestKernelsOfBLAS(t *testing.T) {
	kernels := []string{"Core2", "Nehalem"}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	has := func(flag string) bool { return strings.Contains(string(info), " "+flag+" ") }
	if has("avx2") && has("fma") {
		kernels = append(kernels, "Sandybridge", "Haswell", "Zen")
	}
	seen := 0
	for _, kernel := range kernels {
		run := blas(t, omptest.Live)
		run.Env = append(run.Env, "OPENBLAS_CORETYPE="+kernel)
		run.Args = []string{"forever"}
		r := omptest.Start(t, run)
		for range 2 {
			for _, th := range e2e.ReportProcess(t, r.PID).Threads {
				if len(th.UserStack) == 0 || th.UserStack[len(th.UserStack)-1].Function != "main" {
					t.Errorf("%s, LWP %d: %+v, %q", kernel, th.LWP, th.UserStack, th.Errors)
				}
				if strings.HasPrefix(th.UserStack[0].Function, "dgemm_kernel_") {
					seen++
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no look found a thread in a kernel")
	}
}
