package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// families returns the commands of a program that waits for its children.
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

// TestRunEndsHungChild requires that run reports and ends the hung child. Run does not end the parent, which
// waits for it, nor the other child, which waits for the parent. All of them end then.
func TestRunEndsHungChild(t *testing.T) {
	for name, argv := range families(t, "hang") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, pids := filepath.Join(dir, "reports"), filepath.Join(dir, "pids")
			args := []string{"run", "--json", "--report", file, "--hang-after", "1s", "--"}
			args = append(args, "sh", "-c", `exec "$@" >`+pids, "sh")
			status, _, errs := e2e.Output(t, append(args, argv...)...)
			reports := reportsIn(t, file)
			if n := strings.Count(errs, "made no progress for 1s"); status != cli.ExitHang || n != 1 ||
				len(reports) != 1 {
				t.Fatalf("exit status %d, want %d; %d reports, want 1:\n%s", status, cli.ExitHang, len(reports), errs)
			}
			b, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			family, pic := strings.Fields(string(b)), reports[0]
			if len(family) != 3 || pic.Target.Name() != family[0] {
				t.Fatalf("the report is of process %s, want the first of %v", pic.Target.Name(), family)
			}
			if s := pic.Target.Pause.Standstill; s == nil || s.Seconds < 1 || s.WaitsOutside {
				t.Errorf("why it was reported: %+v", s)
			}
			if len(pic.Verdicts) == 0 || pic.Verdicts[0].Kind != picture.VerdictSelfDeadlock {
				t.Errorf("%+v", pic.Verdicts)
			}
			for _, pid := range family {
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
		omptest.Validate(t, "picture", b)
		list = append(list, e2e.Decode(t, string(b)))
	}
	return list
}

// TestRunWaitsForWorkingChild runs a program that waits, for longer than --hang-after, for a child that makes
// progress, while another child waits for work. Run ends neither.
func TestRunWaitsForWorkingChild(t *testing.T) {
	for name, argv := range families(t, "work") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, errs := e2e.Output(t, append([]string{"run", "--hang-after", "1s", "--"}, argv...)...)
			if status != 5 || errs != "" {
				t.Errorf("exit status %d, want 5: %s", status, errs)
			}
		})
	}
}
