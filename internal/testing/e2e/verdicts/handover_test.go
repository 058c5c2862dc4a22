package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// handoverForms are the ways in which a thread releases a lock that another one has acquired.
var handoverForms = []struct {
	name, program, form string
	lock                string // the lock that is handed over
}{
	{name: "lock", program: "handover", form: "0", lock: "lock ready"},
	{name: "nest_lock", program: "handover", form: "1", lock: "nest"},
	{name: "mutex", program: "handover", form: "2", lock: "mutex mutex"},
	{name: "std_mutex", program: "handover_mutex", form: "0", lock: "mutex door"},
	{name: "std_unique_lock", program: "handover_mutex", form: "1", lock: "mutex"},
	{name: "pair", program: "handover", form: "3", lock: "lock channel.full"},
	{name: "gate", program: "handover", form: "4", lock: "lock gates[0]"},
	{name: "ring", program: "handover", form: "5", lock: "lock"},
}

// handoverRuns builds a program by both compilers, with and without optimization. It runs each on the runtime of
// its compiler, and GCC's builds also on LLVM's runtime.
func handoverRuns(t *testing.T, program string, args ...string) []omptest.Run {
	t.Helper()
	var out []omptest.Run
	gomp, llvm := omptest.Libgomp(t), omptest.RuntimeOf(t, 16)
	for _, level := range []string{"-O0", "-O2"} {
		flags := []string{level, "-g"}
		gcc := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: flags})
		clang := omptest.Compile(t, omptest.Build{Program: program, Flags: flags})
		out = append(out,
			omptest.Run{Exe: gcc, Runtime: gomp, Args: args, Mode: omptest.Live},
			omptest.Run{Exe: gcc, Runtime: omptest.LibgompAlias(t), Args: args, Mode: omptest.Live},
			omptest.Run{Exe: clang, Runtime: llvm, Args: args, Mode: omptest.Live})
	}
	return out
}

// handoverName names a run by its compiler, level and runtime.
func handoverName(i int, r omptest.Run) string {
	compiler := []string{"gcc", "gcc", "clang"}[i%3]
	return fmt.Sprintf("%s-%s-%s", compiler, []string{"O0", "O2"}[i/3], r.Runtime.Name)
}

// TestHandoverIsNoHang looks at programs with threads that release locks of other threads, at random moments:
// none of them hangs.
func TestHandoverIsNoHang(t *testing.T) {
	looks := omptest.Number(t, "handovers", 3)
	for _, f := range handoverForms {
		for i, run := range handoverRuns(t, f.program, f.form) {
			t.Run(f.name+"/"+handoverName(i, run), func(t *testing.T) {
				l := e2e.StartLoop(t, run)
				told := 0
				for range looks {
					status, pic := lookWhenStopped(t, strconv.Itoa(l.Process.Pid))
					for _, v := range pic.Verdicts {
						if v.Severity == picture.SeverityHang || v.Severity == picture.SeverityCrash ||
							status != cli.ExitOK {
							keepHandover(t, pic)
							t.Fatalf("exit status %d, %s (%s) of a healthy program: %s\n%q\n%+v", status, v.Kind,
								v.Certainty, v.Summary, v.Evidence, v.Cycle)
						}
						if v.Kind == picture.VerdictLockHandedOver {
							told++
						}
					}
				}
				t.Logf("%d looks, 0 hangs, handed over in %d; %d rounds", looks, told, l.End(t))
			})
		}
	}
}

// lookWhenStopped returns the exit status and the picture of diagnose.
func lookWhenStopped(t *testing.T, pid string) (int, *picture.Picture) {
	t.Helper()
	status, out, errs := e2e.Output(t, "diagnose", "--json", pid)
	if status != cli.ExitOK && status != cli.ExitFound {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	return status, e2e.Decode(t, out)
}

// keepHandover writes a wrong picture into the directory of the option keep.
func keepHandover(t *testing.T, pic *picture.Picture) {
	if dir := omptest.KeepDir(t); dir != "" {
		name := strings.ReplaceAll(t.Name(), "/", "-") + ".json"
		b, err := json.MarshalIndent(pic, "", " ")
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600)); err != nil {
			t.Error(err)
		}
	}
}

// TestBlockedHandoverIsHang looks at the same programs where the thread that should release the lock waits for a
// lock of the waiting thread: the verdict is a hang, and names the missing release.
func TestBlockedHandoverIsHang(t *testing.T) {
	for _, f := range handoverForms {
		for i, run := range handoverRuns(t, f.program, f.form, "1") {
			t.Run(f.name+"/"+handoverName(i, run), func(t *testing.T) {
				status, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
				hangs := slices.DeleteFunc(slices.Clone(pic.Verdicts), func(v picture.Verdict) bool {
					return !diagnose.Hangs(v)
				})
				if status != cli.ExitFound || len(hangs) == 0 {
					keepHandover(t, pic)
					t.Fatalf("exit status %d, %d hangs of %+v", status, len(hangs), pic.Verdicts)
				}
				var said strings.Builder
				for _, v := range hangs {
					fmt.Fprintln(&said, v.Kind, v.Summary, v.Explanation, v.Evidence)
				}
				for _, want := range []string{"lock stop", f.lock} {
					if !strings.Contains(said.String(), want) {
						t.Errorf("%s is not in %s", want, said.String())
					}
				}
				t.Logf("%s", said.String())
			})
		}
	}
}

// TestDeadlockBesideWorkingThread looks at threads that wait for each other's locks while another thread works in
// code that acquires and releases these locks, too. That code releases only locks that it has acquired itself, so
// the verdict is a deadlock.
func TestDeadlockBesideWorkingThread(t *testing.T) {
	for choice := range 12 {
		for _, early := range []string{"0", "1"} {
			for i, run := range handoverRuns(t, "deadlock_beside", strconv.Itoa(choice), early) {
				t.Run(fmt.Sprint(choice, "-", early, "/", handoverName(i, run)), func(t *testing.T) {
					status, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
					if status != cli.ExitFound || !slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool {
						return v.Kind == picture.VerdictDeadlock && v.Certainty == picture.Certain
					}) {
						keepHandover(t, pic)
						for _, v := range pic.Verdicts {
							t.Log(v.Kind, v.Certainty, v.Summary, v.Evidence)
						}
						t.Errorf("exit status %d, and no deadlock that is certain", status)
					}
				})
			}
		}
	}
}
