package jobs

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestResolve checks that places in an existing file get their lines and keep the names of constructs from the
// nodes. Places in another build of the file stay unchanged.
func TestResolve(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	id := strings.TrimSpace(runTool(t, "sh", "-c", `readelf -n "$0" | sed -n 's/.*Build ID: //p'`, exe))
	entry, err := strconv.ParseUint(strings.Fields(runTool(t, "sh", "-c", `nm "$0" | grep ' main$'`, exe))[0], 16, 64)
	if err != nil || id == "" {
		t.Fatalf("build ID %q, %v", id, err)
	}
	site := func(file string) job.Site { return job.Site(file + "+" + strconv.FormatUint(entry, 16)) }
	names := map[job.Site]job.Name{site("a"): {Function: "main [parallel]"}, site("b"): {}, site("c"): {}}
	p := job.NewPart()
	p.Add(job.Answer{Rank: 0, Member: job.Member{Peer: -1}, Names: names, Files: map[string]job.File{
		"a": {ID: id, Path: exe}, "b": {ID: strings.Repeat("0", len(id)), Path: exe}, "c": {Path: exe},
	}})
	Resolve(p, engine.Options{DebugDirs: []string{t.TempDir()}})
	if n := p.Called(site("a")); n.Function != "main [parallel]" || n.File != "lock_cycle.c" || n.Line == 0 {
		t.Errorf("%+v, want a line of lock_cycle.c", n)
	}
	for _, file := range []string{"b", "c"} {
		if n := p.Called(site(file)); n.Line != 0 {
			t.Errorf("file %s: %+v: a line of another build", file, n)
		}
	}
}

// runTool runs a program and returns its output.
func runTool(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(argv[0]), err)
	}
	return string(out)
}
