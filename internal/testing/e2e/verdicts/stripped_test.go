package verdicts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// strippedCase is a program and the verdict on it without any names.
type strippedCase struct {
	program string
	args    []string
	kind    picture.VerdictKind // empty: healthy
	threads int
	waits   []string // kinds of waits of the verdict's threads
}

func strippedCases() []strippedCase {
	return []strippedCase{
		{"lock_cycle", nil, picture.VerdictDeadlock, 2, []string{"lock", "lock"}},
		{"verdict_critical_cycle", nil, picture.VerdictDeadlock, 2, []string{"critical", "critical"}},
		{"verdict_nest_cycle", nil, picture.VerdictDeadlock, 2, []string{"nest_lock", "nest_lock"}},
		{"verdict_mutex_lock", nil, picture.VerdictDeadlock, 2, []string{"lock", "mutex"}},
		{"verdict_self_lock", nil, picture.VerdictSelfDeadlock, 1, []string{"lock"}},
		{"verdict_atomic", nil, picture.VerdictDeadlock, 2, []string{"atomic", "critical"}},
		{"healthy_lock_held", nil, "", 0, nil},
		{"healthy_released", nil, "", 0, nil},
		{"critical", nil, "", 0, nil},
	}
}

// TestStrippedRuntimeInside explains hangs of executables that contain the runtime and no symbols, and finds no
// hang in healthy ones. Some are static, and some use a separate C library, of several releases of GCC.
func TestStrippedRuntimeInside(t *testing.T) {
	omptest.Needs(t, "static runtimes")
	dirs := omptest.StaticLibgomps(t)
	for release, dir := range dirs {
		for _, kind := range []string{"-static", "-static-pie", "-no-pie", "-pie"} {
			for _, level := range []string{"-O0", "-O2"} {
				static := strings.HasPrefix(kind, "-static")
				name := fmt.Sprintf("gcc-%d%s%s", release, kind, level)
				if !static && release > 12 || !omptest.Turn(8, name) {
					continue
				}
				flags := []string{level, kind, "-s", "-L" + dir}
				if static {
					flags = append(flags, omptest.NewerLibc()...)
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					count := omptest.RecordSupport(t, omptest.SupportPart{Runtime: "libgomp.a", Release: release,
						Target: "process, stripped", Build: kind + level})
					for _, c := range strippedCases() {
						t.Run(c.program, func(t *testing.T) {
							defer count(t)
							c.check(t, flags)
						})
					}
				})
			}
		}
	}
}

func (c strippedCase) check(t *testing.T, flags []string) {
	exe := omptest.Compile(t, omptest.Build{Program: c.program, Compiler: omptest.GCC, Flags: flags})
	p := omptest.Start(t, omptest.Run{Exe: exe, Args: c.args, Mode: omptest.Live, Env: e2e.Asleep})
	status, pic := e2e.Diagnose(t, strconv.Itoa(p.PID))
	for _, th := range pic.Threads {
		if th.Runtime != "" && (th.State == nil || th.State.Name == "undefined") {
			t.Errorf("state of LWP %d is %+v", th.LWP, th.State)
		}
	}
	e := expectation{kind: c.kind}
	found := e.faults(pic.Verdicts)
	if c.kind == "" {
		if len(found) > 0 || status != cli.ExitOK {
			t.Errorf("exit status %d, verdicts %+v, want none", status, found)
		}
		return
	}
	i := slices.IndexFunc(found, func(v picture.Verdict) bool { return v.Kind == c.kind })
	if i < 0 || status != cli.ExitFound {
		t.Fatalf("exit status %d, verdicts %+v, want %s", status, found, c.kind)
	}
	var waits []string
	for _, step := range found[i].Cycle {
		waits = append(waits, string(step.WaitsFor.Kind))
	}
	slices.Sort(waits)
	if len(found[i].Threads) != c.threads || !slices.Equal(waits, c.waits) {
		t.Errorf("%d threads wait for %v, want %d for %v", len(found[i].Threads), waits, c.threads, c.waits)
	}
}
