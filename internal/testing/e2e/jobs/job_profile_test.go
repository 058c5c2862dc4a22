package jobs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestJobProfile profiles a job in which one rank computes and the others wait for it in MPI: by its launcher, and on
// hosts, one of which does not answer.
func TestJobProfile(t *testing.T) {
	m := omptest.MPIs(t)[1]
	launcher := m.Launch(t, jobRanks, m.Compile(t, "-g", "-O1", "-fno-inline"), "compute", strconv.Itoa(badRank))
	by := strconv.Itoa(launcher.Process.Pid)
	via := filepath.Join(t.TempDir(), "via")
	script := "#!/bin/sh\n[ \"$1\" != dead ] || { echo no route to host >&2; exit 255; }\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(via, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"launcher": {"--mpirun", by},
		"hosts":    {"--hosts", "here,dead", "--via", via + " {host}", "--tool", e2e.BuildTool(t)},
	} {
		args = append([]string{"job", "profile", "--samples", "1", "--for", "1h", "--timeout", "0"}, args...)
		status, out, errs := e2e.Output(t, append(args, "--quiet", "--json")...)
		if status != cli.ExitOK || errs != "" {
			t.Fatalf("%s: exit status %d: %s", name, status, errs)
		}
		omptest.Validate(t, "profile", []byte(out))
		p := new(picture.Profile)
		if err := json.Unmarshal([]byte(out), p); err != nil {
			t.Fatal(err)
		}
		checkRanks(t, p)
		missing := strings.Contains(strings.Join(p.Warnings, "\n"), "no route to host")
		omptest.Equal(t, name+": a host is missing", missing, name == "hosts")
	}
	status, out, errs := e2e.Output(t, "job", "profile", "--samples", "1", "--timeout", "0", "--mpirun", by)
	if status != cli.ExitOK || !strings.Contains(out, "(4 ranks)") || !strings.Contains(out, "RANKS") {
		t.Errorf("the page: exit status %d: %s%s", status, out, errs)
	}
	status, out, errs = e2e.Output(t, "job", "profile", "--samples", "1", "--timeout", "0", "--format", "html",
		"--mpirun", by)
	rows := regexp.MustCompile(`<tr data-find><td class="num">(\d+)</td>`).FindAllStringSubmatch(out, -1)
	if status != cli.ExitOK || len(rows) != jobRanks || rows[0][1] != strconv.Itoa(badRank) {
		t.Errorf("the page in a browser: exit status %d, rows %q: %s", status, rows, errs)
	}
}

// checkRanks checks that the faulty rank works and that the others wait in MPI. Their other threads are idle.
func checkRanks(t *testing.T, p *picture.Profile) {
	t.Helper()
	if len(p.Ranks) != jobRanks {
		t.Fatalf("ranks %+v", p.Ranks)
	}
	for _, r := range p.Ranks {
		if works := r.Work > 0; works != (r.Rank == badRank) || works == (r.MPI > 0) || r.Host == "" || r.PID == 0 {
			t.Errorf("%+v", r)
		}
	}
}
