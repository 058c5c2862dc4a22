package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Report returns the report of a target, decoded from JSON.
func Report(t testing.TB, core string, flags ...string) *picture.Picture {
	t.Helper()
	status, out, errs := Output(t, append([]string{"report", "--json", core}, flags...)...)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	var pic picture.Picture
	if err := json.Unmarshal([]byte(out), &pic); err != nil {
		t.Fatal(err)
	}
	return &pic
}

// ReportProcess returns the report of a process, decoded from JSON.
func ReportProcess(t testing.TB, pid int, flags ...string) *picture.Picture {
	t.Helper()
	return Report(t, strconv.Itoa(pid), flags...)
}

// Diagnose returns the exit status of diagnose, and the picture with the verdicts that it prints as
// JSON.
func Diagnose(t testing.TB, target string, flags ...string) (int, *picture.Picture) {
	t.Helper()
	status, out, errs := Output(t, slices.Concat([]string{"diagnose", "--json"}, flags, []string{target})...)
	if status != cli.ExitOK && status != cli.ExitFound && status != cli.ExitCrash {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	return status, Decode(t, out)
}

// Decode parses a picture.
func Decode(t testing.TB, text string) *picture.Picture {
	t.Helper()
	var pic picture.Picture
	if err := json.Unmarshal([]byte(text), &pic); err != nil {
		t.Fatal(err)
	}
	return &pic
}

// ReportOfRun runs a command line under the run verb and returns the exit status and the picture of the report.
func ReportOfRun(t *testing.T, argv []string, flags ...string) (int, *picture.Picture) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	args := append(append([]string{"run", "--json", "--report", file}, flags...), "--")
	status, out, errs := Output(t, append(args, argv...)...)
	if out != "" || errs != "" && !strings.Contains(errs, "made no progress for") {
		t.Errorf("printed %q and %q beside the report", out, errs)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("exit status %d, no report: %v", status, err)
	}
	omptest.Validate(t, "picture", b)
	return status, Decode(t, string(b))
}

// CheckUnreadable requires that report, threads and doctor name the unreadable part of a target and the cause,
// that they conclude nothing from it, and that diagnose fails.
func CheckUnreadable(t *testing.T, target, why string) {
	t.Helper()
	if status, _, errs := Output(t, "diagnose", target); status != cli.ExitError {
		t.Errorf("diagnose: exit status %d, as if all were known: %s", status, errs)
	}
	for _, verb := range []string{"report", "threads", "doctor"} {
		_, out, _ := Output(t, verb, target)
		flat := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(flat, "could not be read: ") || !strings.Contains(flat, why) {
			t.Errorf("%s does not say that something could not be read, as %s:\n%s", verb, why, out)
		}
		for _, s := range []string{"at work", "oversubscribed", "ok      states", "no OpenMP call yet", "not OpenMP"} {
			if strings.Contains(out, s) {
				t.Errorf("%s says %q:\n%s", verb, s, out)
			}
		}
	}
}
