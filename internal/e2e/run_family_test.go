package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// families are the commands of a program that waits for its children.
func families(t *testing.T, way string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for name, r := range map[string]omptest.Run{
		"libomp": {Exe: omptest.Compile(t, omptest.Build{Program: "run_family"}), Runtime: omptest.RuntimeOf(t, 16)},
		"libgomp": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "run_family", Compiler: omptest.GCC}),
			Runtime: omptest.Libgomp(t),
		},
	} {
		out[name] = []string{"env", "LD_LIBRARY_PATH=" + r.Runtime.Dir, r.Exe, way}
	}
	return out
}

// TestRunFamily reports the child that hangs first, and its parent, which waits for it, last,
// if it is not woken by the child's end; each report says why it was written. All of them end.
func TestRunFamily(t *testing.T) {
	for name, argv := range families(t, "hang") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, pids := filepath.Join(dir, "reports"), filepath.Join(dir, "pids")
			args := []string{"run", "--json", "--report", file, "--hang-after", "1s", "--"}
			args = append(args, "sh", "-c", `exec "$@" >`+pids, "sh")
			status, _, errs := output(t, append(args, argv...)...)
			reports := reportsIn(t, file)
			if n := strings.Count(errs, "made no progress for 1s"); status != cli.ExitHang || n != len(reports) {
				t.Fatalf("exit status %d, want %d and %d processes:\n%s", status, cli.ExitHang, len(reports), errs)
			}
			b, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			order := strings.Fields(string(b))
			for i, pic := range reports {
				if i >= len(order) || pic.Target.Name() != order[i] {
					t.Fatalf("report %d is of process %s, want the order %v", i, pic.Target.Name(), order)
				}
				s := pic.Target.Pause.Standstill
				if s == nil || s.Seconds < 1 || s.Outside != (i > 0) || len(s.Spun) > 0 && i > 0 {
					t.Errorf("process %d: why it was reported: %+v", pic.Target.PID, s)
				}
				hangs := len(pic.Verdicts) > 0 && pic.Verdicts[0].Kind == picture.VerdictSelfDeadlock
				if hangs != (i == 0) {
					t.Errorf("process %d, report %d: %+v", pic.Target.PID, i, pic.Verdicts)
				}
			}
			for _, pid := range order {
				b, err := os.ReadFile("/proc/" + pid + "/status")
				if err == nil && !strings.Contains(string(b), "\nState:\tZ") {
					t.Errorf("process %s is there", pid)
				}
			}
		})
	}
}

// reportsIn reads the reports of one run.
func reportsIn(t *testing.T, file string) (list []*picture.Picture) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); d.More(); {
		var b json.RawMessage
		if err := d.Decode(&b); err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		list = append(list, decode(t, string(b)))
	}
	return list
}

// TestRunFamilyWorks lets a program be that waits, for longer than --hang-after, for a child
// that gets on, and the child that waits for work beside it.
func TestRunFamilyWorks(t *testing.T) {
	for name, argv := range families(t, "work") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, errs := output(t, append([]string{"run", "--hang-after", "1s", "--"}, argv...)...)
			if status != 5 || errs != "" {
				t.Errorf("exit status %d, want 5: %s", status, errs)
			}
		})
	}
}
