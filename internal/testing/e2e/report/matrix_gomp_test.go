package report

import (
	"cmp"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// gompVariant is one way to build, run and dump a program with GCC.
type gompVariant struct {
	name    string
	runtime omptest.Runtime
	env     []string
	flags   []string
	strip   bool
	static  bool
	mode    omptest.Mode
	lines   bool     // the executable has debug information
	without []string // programs that cannot be built or brought into position so
}

func gompVariants(t *testing.T) []gompVariant {
	t.Helper()
	var all []gompVariant
	for _, rt := range omptest.Libgomps(t) {
		all = append(all, gompVariant{name: rt.Name, runtime: rt, env: e2e.NestingEnv(rt), flags: []string{"-O1", "-g"},
			mode: omptest.Kernel, lines: true})
	}
	return append(all, []gompVariant{
		{name: "gcore", flags: []string{"-O0", "-g"}, mode: omptest.Gcore, lines: true},
		{name: "stripped", flags: []string{"-O2"}, strip: true, mode: omptest.Kernel},
		{name: "no-pie", flags: []string{"-O1", "-g", "-no-pie"}, mode: omptest.Kernel, lines: true},
		{name: "O2", flags: []string{"-O2", "-g"}, mode: omptest.Kernel, lines: true},
		{name: "O3", flags: []string{"-O3", "-g"}, mode: omptest.Kernel, lines: true},
		{name: "lto", flags: []string{"-O2", "-g", "-flto"}, mode: omptest.Kernel, lines: true},
		{name: "passive", flags: []string{"-O2", "-g"}, env: []string{"GOMP_SPINCOUNT=0", "OMP_WAIT_POLICY=passive"},
			mode: omptest.Kernel, lines: true},
		// The omitted programs wait for threads to sleep, or would make hundreds spin.
		{name: "active", flags: []string{"-O2", "-g"},
			env: []string{"GOMP_SPINCOUNT=infinite", "OMP_WAIT_POLICY=active"}, mode: omptest.Kernel, lines: true,
			without: []string{"many", "crash_forming", "idle"}},
		// The program's own pthread_create needs a separate C library.
		{name: "static", flags: []string{"-O1", "-g", "-static"}, static: true, mode: omptest.Kernel,
			without: []string{"crash_forming"}},
	}...)
}

// TestGompReportMatrix compares the picture of real cores of GCC's programs with the results of omp_get_* in
// their own threads.
func TestGompReportMatrix(t *testing.T) {
	for i, v := range gompVariants(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			row := omptest.SupportPart{Runtime: "libgomp", Release: cmp.Or(v.runtime.Major, omptest.Libgomp(t).Major),
				Target: "core", Build: v.name}
			if v.static {
				row.Runtime = "libgomp.a"
			}
			if v.strip {
				row.Target += ", stripped"
			}
			count := omptest.RecordSupport(t, row)
			for _, program := range e2e.GompSituations() {
				if slices.Contains(v.without, program) || i > 0 && !omptest.Turn(e2e.RestDays, v.name, program) {
					continue
				}
				t.Run(program, func(t *testing.T) {
					defer count(t)
					run := omptest.Run{
						Exe: omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: v.flags,
							Strip: v.strip}),
						Mode: v.mode, Runtime: v.runtime, Env: v.env,
					}
					if !v.static && run.Runtime.Lib == "" {
						run.Runtime = omptest.Libgomp(t)
					}
					if program == "crash_task" && run.Mode == omptest.Kernel {
						run.Mode = omptest.Segv
					}
					r := omptest.Dump(t, run)
					e2e.AdaptToGCC(program, &r.Truth)
					e2e.CheckPicture(t, e2e.Report(t, r.Core), r, v.lines)
				})
			}
		})
	}
}
