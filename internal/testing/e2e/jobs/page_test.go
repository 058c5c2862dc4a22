package jobs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

var remake = flag.Bool("remake", false, "write testdata/jobs again, from a real job")

// TestRemakeJob makes the job whose page docs/guide/jobs.md shows.
func TestRemakeJob(t *testing.T) {
	if !*remake {
		t.Skip("the job of the documents is made again with -remake only")
	}
	for _, m := range omptest.MPIs(t) {
		if m.Name != "openmpi" {
			continue
		}
		exe := m.Compile(t, "-g", "-O1", "-fno-inline")
		launcher := m.Launch(t, jobRanks, exe, "deadlock", strconv.Itoa(badRank)).Process.Pid
		r, _ := awaitVerdict(t, job.Missing, "which is deadlocked", "--mpirun", strconv.Itoa(launcher))
		r.Seconds = 2 // that of an idle machine
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		const pagePID = 23363 // of the launcher on the page
		text = regexp.MustCompile(fmt.Sprintf(`\b%d\b`, launcher)).ReplaceAll(text, strconv.AppendInt(nil, pagePID, 10))
		dir := filepath.Join(e2e.Root, "testdata", "jobs")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "deadlock.json"), append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
