package report

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxStarts bounds the starts of a program that ends before a look.
const maxStarts = 400

// maxEarly bounds the looks at a program before its first parallel region.
const maxEarly = 200

// TestHealthyApplications looks at real programs while they run, which the campaign applications has built: no
// look may find a hang or a crash.
func TestHealthyApplications(t *testing.T) {
	dir := omptest.Option("dir")
	if dir == "" {
		t.Skip("go run ./internal/testing/campaign applications builds and tests the programs")
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	share := omptest.Number(t, "looks", 60) / len(lines)
	var all soakedProgram
	for _, line := range lines {
		a := soakedProgram{command: strings.Fields(line)}
		a.lookAll(t, max(1, share))
		t.Logf("%d looks, %d with a team at work, %d starts, %v: %s", a.looks, a.teams, a.starts, a.others, a.name())
		all.looks, all.teams, all.alarms = all.looks+a.looks, all.teams+a.teams, all.alarms+a.alarms
	}
	t.Logf("%d programs, %d looks, %d with a team at work, %d false alarms",
		len(lines), all.looks, all.teams, all.alarms)
}

// soakedProgram is a real program that is run and looked at repeatedly.
type soakedProgram struct {
	command []string
	looks   int
	teams   int // looks that found a team of several threads
	alarms  int
	starts  int
	others  map[picture.VerdictKind]int // verdicts other than hangs
}

func (a *soakedProgram) name() string {
	return filepath.Base(a.command[len(a.command)-1]) + " " + a.command[0]
}

// policies set how its threads wait, in turn, and their number if that is not 4.
var policies = []string{"OMP_NUM_THREADS=4", "OMP_WAIT_POLICY=passive", "OMP_WAIT_POLICY=active", "OMP_NUM_THREADS=16"}

// lookAll looks at the program n times.
func (a *soakedProgram) lookAll(t *testing.T, n int) {
	t.Helper()
	for a.looks < n && a.starts < maxStarts {
		a.lookWhile(t, min(n-a.looks, max(1, n/len(policies))))
	}
}

// lookWhile runs the program once, and looks at it n times unless it ends before. A shell is its parent, so that
// the shell's wait and a look do not interfere. The program has low priority: as on a busy machine, looks then
// find threads that were woken or interrupted and have not run since.
func (a *soakedProgram) lookWhile(t *testing.T, n int) {
	t.Helper()
	script := `nice -n 19 "$@" >/dev/null 2>&1 & echo $!; wait $!`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, a.command...)...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=4", policies[a.starts%len(policies)])
	a.starts++
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	begun := false
	for looks, early := 0, 0; looks < n; {
		status, text, _ := e2e.Output(t, "report", "--json", strconv.Itoa(pid))
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%q: %v", a.command, err)
			}
			return // the verdict may be about its end
		default:
		}
		if status != cli.ExitOK {
			looks++
			continue
		}
		pic := e2e.Decode(t, text)
		if begun = begun || hasTeam(pic); !begun && early < maxEarly {
			early++ // the time before its first parallel region is not the subject of this test
			continue
		}
		looks++
		a.judge(t, status, pic)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	<-ended
}

// hasTeam reports whether there is a team of several threads.
func hasTeam(pic *picture.Picture) bool {
	return slices.ContainsFunc(pic.Regions, func(r picture.Region) bool { return r.TeamSize > 1 })
}

// judge counts a look, and reports errors and verdicts, as the program is healthy.
func (a *soakedProgram) judge(t *testing.T, status int, pic *picture.Picture) {
	t.Helper()
	a.looks++
	if a.others == nil {
		a.others = map[picture.VerdictKind]int{}
	}
	if hasTeam(pic) {
		a.teams++
	}
	for _, v := range pic.Verdicts {
		if diagnose.Hangs(v) || v.Severity == picture.SeverityHang || v.Severity == picture.SeverityCrash {
			a.alarms++
			t.Errorf("%q: exit status %d, %s (%s): %s\n%s\n%q",
				a.command, status, v.Kind, v.Certainty, v.Summary, v.Explanation, v.Evidence)
			continue
		}
		a.others[v.Kind]++
		if a.others[v.Kind] == 1 { // a reader must judge it
			t.Logf("%s: %s (%s): %s\n%s", a.name(), v.Kind, v.Certainty, v.Summary, v.Explanation)
		}
	}
}
