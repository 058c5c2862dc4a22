package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// pythonLooks is more than the number of looks until Python hangs or reaches its loop.
	pythonLooks = 300
	// healthyPythonLooks is the number of looks at the team of a program that continues.
	healthyPythonLooks = 8
)

// pythonCallbacks are ways in which callbacks from a parallel loop hang for the lock of Python's interpreter,
// with their verdicts, and healthy ways.
var pythonCallbacks = []struct {
	way  string
	kind picture.VerdictKind // empty: it continues
	says []string
}{
	{
		"barrier", picture.VerdictDeadlock,
		[]string{"Python's interpreter (GIL), which thread 0", "CDLL in place of PyDLL"},
	},
	{"lock", picture.VerdictDeadlock, []string{"Python's interpreter (GIL)", "lock table"}},
	{"self", picture.VerdictSelfDeadlock, []string{"lock table, which it holds itself"}},
	{"healthy", "", nil},
	{"turns", "", nil},
}

// TestPythonCallbacks looks at Debian's Python with a library that calls back from a parallel loop.
func TestPythonCallbacks(t *testing.T) {
	library := pythonLibrary(t)
	for _, tt := range pythonCallbacks {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(filepath.Dir(omptest.Programs(t)), "python/callbacks.py")
			cmd := exec.Command("/usr/bin/python3", script, library, tt.way)
			cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=4")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // the signal
			})
			pid := strconv.Itoa(cmd.Process.Pid)
			if tt.kind == "" {
				pythonGoesOn(t, pid)
				return
			}
			var pic *picture.Picture
			for range pythonLooks {
				if _, pic = e2e.Diagnose(t, pid); pythonSays(pic, tt.kind, tt.says) {
					return
				}
			}
			t.Fatalf("no verdict %s that says %q; at last %+v, warnings %q", tt.kind, tt.says, pic.Verdicts,
				pic.Warnings)
		})
	}
}

// pythonLibrary returns the library of testdata/python.
func pythonLibrary(t *testing.T) string {
	t.Helper()
	omptest.Needs(t, "compilers")
	out := filepath.Join(t.TempDir(), "callbacks.so")
	source := filepath.Join(filepath.Dir(omptest.Programs(t)), "python/callbacks.c")
	build := exec.Command("gcc", "-g", "-O2", "-fopenmp", "-shared", "-fPIC", source, "-o", out)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func pythonSays(pic *picture.Picture, kind picture.VerdictKind, says []string) bool {
	for _, v := range pic.Verdicts {
		text, all := v.Summary+" "+v.Explanation+" "+v.Fix, v.Kind == kind
		for _, s := range says {
			all = all && strings.Contains(text, s)
		}
		if all {
			return true
		}
	}
	return false
}

// pythonGoesOn looks at a program until several looks have found its team, and requires that none finds a hang.
func pythonGoesOn(t *testing.T, pid string) {
	t.Helper()
	teams := 0
	for look := 0; teams < healthyPythonLooks; look++ {
		if look == pythonLooks {
			t.Fatalf("the team of the loop was seen %d times in %d looks", teams, look)
		}
		_, out, _ := e2e.Output(t, "report", "--json", pid)
		pic := e2e.Decode(t, out)
		if hasTeam(pic) {
			teams++
		}
		for _, v := range pic.Verdicts {
			if diagnose.Hangs(v) {
				t.Fatalf("%s (%s): %s %s\n%q", v.Kind, v.Certainty, v.Summary, v.Explanation, v.Evidence)
			}
		}
	}
}
