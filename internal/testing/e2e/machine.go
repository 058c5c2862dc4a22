package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// MachineLane is one way to build and run programs in a machine for aarch64.
type MachineLane struct {
	Lane
	Static bool
	flags  []string // in addition to those of Build
	major  int
}

// guarded are the flags of programs with signed return addresses, marked branch targets, and atomic instructions that
// need no loop.
var guarded = []string{"-march=armv8.3-a", "-mbranch-protection=standard"}

// NeedsMachine skips a test for which no lanes are chosen.
func NeedsMachine(t *testing.T, chosen string) {
	t.Helper()
	if chosen == "" {
		t.Skip("a machine is started only in the campaign arm64: go run ./internal/testing/campaign arm64")
	}
}

// IsChosenLane reports whether a lane's name starts with a word of chosen, which commas separate, or that is "all".
func IsChosenLane(name, chosen string) bool {
	for start := range strings.SplitSeq(chosen, ",") {
		if start == "all" || strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// MachineLanes returns the lanes whose names start with one of chosen, which commas separate, or all lanes. Without
// any, the test is skipped.
func MachineLanes(t *testing.T, chosen string) []MachineLane {
	t.Helper()
	NeedsMachine(t, chosen)
	var lanes []MachineLane
	add := func(family string, major int, name, build string, flags ...string) {
		l := MachineLane{Lane: Lane{Name: family + "-" + name, Family: family, Build: build}, flags: flags,
			major: major, Static: strings.Contains(strings.Join(flags, " "), "-static")}
		if IsChosenLane(l.String(), chosen) {
			lanes = append(lanes, l)
		}
	}
	add("libomp", 16, "16", "O1")
	add("libgomp", 12, "bookworm", "O2")
	add("libomp", 19, "19", "O2", guarded...)
	add("libgomp", 12, "bookworm", "O1", "-static")
	for _, major := range []int{14, 15, 17, 18, 23} {
		add("libomp", major, fmt.Sprint(major), "O1")
	}
	add("libomp", 16, "16", "O0")
	add("libomp", 16, "16", "O2", "-s")
	add("libgomp", 12, "bookworm", "O0")
	add("libgomp", 12, "bookworm", "O1", guarded...)
	add("libgomp", 12, "bookworm", "O2", "-s")
	add("libgomp", 10, "bullseye", "O1")
	add("libgomp", 14, "trixie", "O2")
	add("libgomp", 16, "sid", "O1")
	return lanes
}

// String returns the lane's name with its flags.
func (l MachineLane) String() string {
	return strings.Join(append([]string{l.Lane.String()}, l.flags...), "")
}

// Stripped reports whether executables have no symbols and no debug information.
func (l MachineLane) Stripped() bool { return len(l.flags) == 1 && l.flags[0] == "-s" }

// Major returns the release of the runtime.
func (l MachineLane) Major() int { return l.major }

// InMachine builds a program in the lane and runs it in the machine, with looks by the given commands.
func (l MachineLane) InMachine(t *testing.T, m *omptest.Machine, p Program, commands ...[]string) *omptest.MachineLook {
	t.Helper()
	b := omptest.Build{Program: p.Name, Flags: append([]string{"-g", "-" + l.Build}, l.flags...)}
	if p.Bare {
		b.Flags[0] = "-g0"
	}
	if l.Stripped() {
		b.Strip, b.Flags = true, b.Flags[:2]
	}
	other, _ := omptest.MachineRuntime("libgomp", 12)
	r := omptest.Run{Args: p.Args, Mode: l.Mode}
	if l.Family == "libgomp" {
		b.Compiler = omptest.GCC
		other, _ = omptest.MachineRuntime("libomp", 16)
	}
	r.Runtime = omptest.Runtime{Major: l.major}
	if !l.Static {
		var flags []string
		r.Runtime, flags = omptest.MachineRuntime(l.Family, l.major)
		b.Flags = append(b.Flags, flags...)
	}
	r.Exe = omptest.CompileForMachine(t, b)
	r.Env = slices.Concat([]string{"OMP_STACKSIZE=256k", "OMPD_OTHER=" + other.Lib}, NestingEnv(r.Runtime), p.Env)
	if p.Crash {
		r.Mode = omptest.Kernel
	}
	return m.Run(t, "/tmp/run", r, commands...)
}

// MachineOptions returns the parts of a machine that the campaign's options select.
func MachineOptions(tb testing.TB) omptest.MachineOptions {
	tb.Helper()
	return omptest.MachineOptions{CPUs: omptest.Number(tb, "cpus", 2), Gcore: omptest.Option("gcore") != ""}
}

// MachineBudget is a flag of the tool in a machine: an emulator needs many times the processor time of a look.
const MachineBudget = "--budget=0"

// MachineFlags returns the flags with which the tool finds the files of a program that ran in a machine.
func MachineFlags(m *omptest.Machine, look *omptest.MachineLook) []string {
	return []string{"--no-debuginfod", "--sysroot", m.Root, "--exe", look.Exe}
}

// LiveReport decodes a report that the tool made in the machine.
func LiveReport(t *testing.T, a omptest.Answer) *picture.Picture {
	t.Helper()
	if a.Stdout == "" {
		t.Fatalf("the tool in the machine: exit status %s\n%s", a.Status, a.Errs)
	}
	return Decode(t, a.Stdout)
}
