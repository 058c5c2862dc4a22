package report

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestProfilePython checks that the stack of a profile has the lines of Python that the program itself reports.
func TestProfilePython(t *testing.T) {
	pid, want := startPythonFrames(t, "/usr/bin/python3")
	status, out, errs := e2e.Output(t, "profile", "--quiet", "--samples", "2", "--json", strconv.Itoa(pid))
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	omptest.Validate(t, "profile", []byte(out))
	p := new(picture.Profile)
	if err := json.Unmarshal([]byte(out), p); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Stacks, func(s picture.ProfileStack) bool {
		return slices.ContainsFunc(s.Frames, func(f picture.Frame) bool { return f.Language != "" })
	})
	if i < 0 {
		t.Fatalf("no stack has a line of Python: %+v", p.Stacks)
	}
	checkPythonFrames(t, &picture.Picture{Threads: []picture.Thread{{UserStack: p.Stacks[i].Frames}}}, want)
}
