package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Lane is one way to build programs, to run them, and to look at them.
type Lane struct {
	Name    string
	Family  string // of the runtime
	Build   string
	Watched string // sanitizer of the build; empty: unsanitized
	Runtime func(testing.TB) omptest.Runtime
	Mode    omptest.Mode // of the run, if the program does not crash
	full    bool         // only in a full run: see omptest.Full
	rare    bool         // in a full run, or on the days of its turn
	Release int          // of the compiler; 0: the usual one
}

func (l Lane) String() string {
	if l.Watched != "" {
		return l.Name + "-" + l.Build + "-" + l.Watched
	}
	name := l.Name + "-" + strings.ReplaceAll(l.Build, " ", "")
	if l.Mode == omptest.Live && !l.rare {
		name += "-live"
	}
	return name
}

// Turn reports whether a case runs today: always in one lane of each family and in one of two lanes with
// processes, by turns in the others. A quick run takes turns in all lanes except two with processes: gcore takes
// longest.
func (l Lane) Turn(name string) bool {
	switch {
	case omptest.Quick() && slices.Contains([]string{"libomp-16-O1-live", "libgomp-bookworm-O1-live"}, l.String()):
		return omptest.Turn(1, l.String(), name)
	case omptest.Quick():
		return omptest.Turn(quickRest, l.String(), name)
	case omptest.Full() || slices.Contains([]string{"libomp-16-O1", "libgomp-bookworm-O2"}, l.String()):
		return true
	case l.Mode == omptest.Live && !l.rare:
		return omptest.Turn(2, name) == (l.Build == "O1")
	}
	return omptest.Turn(RestDays, l.String(), name)
}

// other returns the second runtime of a program that loads two.
func (l Lane) other(tb testing.TB) omptest.Runtime {
	if l.Family == "libomp" {
		return omptest.Libgomp(tb)
	}
	return omptest.RuntimeOf(tb, 16)
}

// Matches reports whether one of names, which spaces separate, matches the lane. A name is the start of
// the lane's name with its build, the build, the family with the build, or the mode.
func (l Lane) Matches(names string) bool {
	return slices.ContainsFunc(strings.Fields(names), func(name string) bool {
		return strings.HasPrefix(l.Name+"-"+l.Build, name) || l.Build == name || l.Family+"-"+l.Build == name ||
			string(l.Mode) == name
	})
}

// OwnCore matches the lanes in which programs abort themselves for a core: that of a program whose hang is in a child
// is one of the parent.
const OwnCore = string(omptest.Kernel)

// Run builds a program in the lane and returns how to run it.
func (l Lane) Run(t *testing.T, p Program) omptest.Run {
	t.Helper()
	b := omptest.Build{Program: p.Name, Flags: []string{"-g"}, Release: l.Release}
	if p.Bare {
		b.Flags[0] = "-g0"
	}
	if p.Standard != "" {
		b.Flags = append(b.Flags, "-std="+p.Standard)
	}
	if l.Watched != "" {
		if l.Family != "libgomp" {
			omptest.NeedsMore(t, "clang's sanitizers (libclang-rt-16-dev)")
		}
		b.Flags = append(b.Flags, "-fsanitize="+l.Watched)
	}
	b.Flags = append(strings.Fields("-"+l.Build), b.Flags...)
	if l.Family == "libgomp" {
		b.Compiler = omptest.GCC
	}
	return omptest.Run{
		Exe: omptest.Compile(t, b), Runtime: l.Runtime(t), Args: p.Args, Mode: l.Mode,
		Env: append([]string{"OMPD_OTHER=" + l.other(t).Lib}, p.Env...),
	}
}

// Look builds and runs a program in the lane and returns the target: a core or a PID.
func (l Lane) Look(t *testing.T, p Program) string {
	t.Helper()
	r := l.Run(t, p)
	switch {
	case p.Crash:
		r.Mode = omptest.Kernel
	case l.Mode == omptest.Live:
		return strconv.Itoa(omptest.Start(t, r).PID)
	}
	return omptest.Dump(t, r).Core
}

// Lanes returns the lanes of today: runtimes of several releases, with builds of several kinds, as
// cores and as processes.
func Lanes() []Lane {
	return slices.DeleteFunc(allLanes(), func(l Lane) bool {
		return (l.full || l.rare && !omptest.Turn(rareTurn, l.String())) && !omptest.Full()
	})
}

func allLanes() []Lane {
	llvm := func(major int) func(testing.TB) omptest.Runtime {
		return func(tb testing.TB) omptest.Runtime { return omptest.RuntimeOf(tb, major) }
	}
	gnu := func(suite string) func(testing.TB) omptest.Runtime {
		return func(tb testing.TB) omptest.Runtime { return omptest.LibgompOf(tb, suite) }
	}
	return append(rareLanes(llvm, gnu), []Lane{
		{Name: "libomp-14", Family: "libomp", Build: "O2", Runtime: llvm(14), Mode: omptest.Gcore, full: true},
		{Name: "libomp-15", Family: "libomp", Build: "O1", Runtime: llvm(15), Mode: omptest.Gcore, full: true},
		{Name: "libomp-16", Family: "libomp", Build: "O0", Runtime: llvm(16), Mode: omptest.Gcore},
		{Name: "libomp-16", Family: "libomp", Build: "O1", Runtime: llvm(16), Mode: omptest.Gcore},
		{Name: "libomp-16", Family: "libomp", Build: "O1", Runtime: llvm(16), Mode: omptest.Live},
		{Name: "libomp-19", Family: "libomp", Build: "O2", Runtime: llvm(19), Mode: omptest.Gcore, full: true},
		{Name: "libomp-19", Family: "libomp", Build: "O2", Runtime: llvm(19), Mode: omptest.Live},
		{Name: "libgomp-bookworm", Family: "libgomp", Build: "O0", Runtime: gnu("bookworm"),
			Mode: omptest.Gcore, full: true},
		{Name: "libgomp-bookworm", Family: "libgomp", Build: "O1", Runtime: gnu("bookworm"),
			Mode: omptest.Gcore, full: true},
		{Name: "libgomp-bookworm", Family: "libgomp", Build: "O2", Runtime: gnu("bookworm"), Mode: omptest.Gcore},
		{Name: "libgomp-bookworm", Family: "libgomp", Build: "O1", Runtime: gnu("bookworm"), Mode: omptest.Live},
		{Name: "libgomp-bullseye", Family: "libgomp", Build: "O1", Runtime: gnu("bullseye"),
			Mode: omptest.Gcore, full: true},
		{Name: "libgomp-trixie", Family: "libgomp", Build: "O2", Runtime: gnu("trixie"),
			Mode: omptest.Gcore, full: true},
		{Name: "libgomp-trixie", Family: "libgomp", Build: "O2", Runtime: gnu("trixie"), Mode: omptest.Live},
		{Name: "libgomp-sid", Family: "libgomp", Build: "O1", Runtime: gnu("sid"), Mode: omptest.Kernel},
	}...)
}

// quickRest is the number of turns of quick runs in which a case of an unusual lane runs once.
const quickRest = 30

// rareLanes returns lanes with processes: other releases of the compilers, and builds that are less usual.
func rareLanes(llvm func(int) func(testing.TB) omptest.Runtime,
	gnu func(string) func(testing.TB) omptest.Runtime) []Lane {
	out := []Lane{
		{Name: "clang-14", Build: "O2", Release: 14, Runtime: llvm(14)},
		{full: true, Name: "clang-19", Build: "O0", Release: 19, Runtime: llvm(19)},
		{Name: "clang-19", Build: "O2", Release: 19, Runtime: llvm(19)},
		{full: true, Name: "clang-19", Build: "O3", Release: 19, Runtime: llvm(19)},
		{full: true, Name: "clang-22", Build: "O0", Release: 22, Runtime: llvm(19)}, // as in Debian 12
		{Name: "clang-22", Build: "O2", Release: 22, Runtime: llvm(19)},
		{full: true, Name: "clang-22", Build: "O3", Release: 22, Runtime: llvm(19)},
		{Name: "gcc-12", Build: "O3", Runtime: gnu("bookworm")},
		{full: true, Name: "gcc-12", Build: "O2 -flto", Runtime: gnu("bookworm")},
		{full: true, Name: "gcc-14", Build: "O0", Release: 14, Runtime: gnu("trixie")},
		{Name: "gcc-14", Build: "O2", Release: 14, Runtime: gnu("trixie")},
		{full: true, Name: "gcc-15", Build: "O2", Release: 15, Runtime: gnu("sid")},
		{full: true, Name: "gcc-16", Build: "O2", Release: 16, Runtime: gnu("sid")},
	}
	for i := range out {
		out[i].Mode, out[i].rare, out[i].Family = omptest.Live, !out[i].full, "libgomp"
		if strings.HasPrefix(out[i].Name, "clang") {
			out[i].Family = "libomp"
		}
	}
	return out
}

// rareTurn is the number of days in which each of the rare lanes runs once.
const rareTurn = 3

// Program is a program of testdata/programs, and how it is built and run.
type Program struct {
	Name     string
	Args     []string
	Env      []string
	Crash    bool   // dies by a signal of its own
	Bare     bool   // built without debug information
	Standard string // of C++, if not the compiler's default
}

// Asleep makes waiters of GNU's runtime sleep at once: the time for which they spin differs by release.
var Asleep = []string{"GOMP_SPINCOUNT=0"}
