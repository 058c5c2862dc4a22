package report

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// update replaces the expected pictures of the golden cores by the tool's.
var update = flag.Bool("update", false, "write the pictures of testdata/golden again")

// minGolden is the least number of golden cores.
const minGolden = 20

// TestGolden opens the cores of testdata/golden, which do not depend on the machine, and compares all output of
// the tool, including verdicts, with the stored pictures.
func TestGolden(t *testing.T) {
	cores, err := filepath.Glob(filepath.Join(e2e.GoldenDir, "*", "core.zst"))
	if err != nil || len(cores) < minGolden {
		t.Fatalf("%d golden cores, %v", len(cores), err)
	}
	for _, core := range cores {
		name := filepath.Base(filepath.Dir(core))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row, ok := supportOfGolden(name); ok {
				defer omptest.RecordSupport(t, row)(t)
			}
			if name == "foreign" {
				defer omptest.RecordSupport(t, omptest.SupportPart{Runtime: "other", Target: "core", Build: name})(t)
			}
			files, err := omptest.UnpackGolden(e2e.GoldenDir, name, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			g := golden{dir: filepath.Dir(core), root: files.Sysroot, exe: files.Exe}
			report := g.compare(t, "picture.json", "report")
			g.compare(t, "icvs.json", "icvs")
			g.checkStatus(t, e2e.Decode(t, report))
		})
	}
}

// supportOfGolden returns the row of support.md that a golden core of a machine for aarch64 counts for.
func supportOfGolden(name string) (omptest.SupportPart, bool) {
	row := omptest.SupportPart{Runtime: "libgomp", Release: 12, Arch: "aarch64", Target: "core", Build: name}
	for _, c := range machineGoldens() {
		if c.name == name {
			row.Runtime, row.Release = c.family, c.major
			if c.strip {
				row.Target += ", stripped"
			}
			return row, true
		}
	}
	switch {
	case strings.HasPrefix(name, "aarch64-llvm-"):
		row.Runtime, row.Release = "libomp", 19
	case strings.HasPrefix(name, "aarch64-static-"):
		row.Runtime = "libgomp.a"
	}
	return row, strings.HasPrefix(name, "aarch64-")
}

// TestGoldenWithoutLibc opens cores for aarch64 without the file of the C library: the threads are those of the core
// with the file, and so is the verdict.
func TestGoldenWithoutLibc(t *testing.T) {
	for _, name := range []string{"aarch64-deadlock", "aarch64-llvm-deadlock"} {
		t.Run(name, func(t *testing.T) { withoutLibc(t, name) })
	}
}

func withoutLibc(t *testing.T, name string) {
	files, err := omptest.UnpackGolden(e2e.GoldenDir, name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := golden{dir: filepath.Dir(files.Core), root: files.Sysroot, exe: files.Exe}
	type place struct {
		number int
		role   picture.Role
		state  picture.StateName
		waits  string
	}
	look := func() (map[int]place, []picture.Verdict) {
		status, out, errs := g.run(t, "report")
		if status != cli.ExitOK {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		pic, places := e2e.Decode(t, out), map[int]place{}
		for _, th := range pic.Threads {
			p := place{number: -1, role: th.Role, waits: th.WaitName}
			if th.ThreadNum != nil {
				p.number = *th.ThreadNum
			}
			if th.State != nil {
				p.state = th.State.Name
			}
			places[th.LWP] = p
		}
		return places, pic.Verdicts
	}
	want, verdicts := look()
	if err := os.Remove(filepath.Join(g.root, "usr/lib/aarch64-linux-gnu/libc.so.6")); err != nil {
		t.Fatal(err)
	}
	places, found := look()
	for lwp, p := range want { // a sleep is known by the library's function
		if p.state == picture.StateSleep {
			delete(want, lwp)
			delete(places, lwp)
		}
	}
	omptest.Equal(t, "threads", places, want)
	if len(verdicts) != 1 || len(found) != 1 || found[0].Kind != picture.VerdictDeadlock ||
		!slices.Equal(found[0].Threads, verdicts[0].Threads) {
		t.Errorf("verdicts %+v, want %+v", found, verdicts)
	}
}

// golden is one core of testdata/golden, with its files unpacked.
type golden struct{ dir, root, exe string }

// run runs one verb on the core.
func (g golden) run(t *testing.T, verb string) (status int, out, errs string) {
	t.Helper()
	status, out, all := e2e.Output(t, verb, "--json", "--no-debuginfod", "--debug-dir", g.root,
		"--sysroot", g.root, "--exe", g.exe, filepath.Join(g.dir, "core.zst"))
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "ompd-inspect: unpacking ") { // printed only for an unpacking of over a second
			errs += line
		}
	}
	out = strings.NewReplacer(g.exe, "EXE", g.root, "SYSROOT", filepath.ToSlash(g.dir), "GOLDEN").Replace(out)
	return status, out, errs
}

// compare compares a verb's output with a file, or updates the file.
func (g golden) compare(t *testing.T, file, verb string) (out string) {
	t.Helper()
	status, out, errs := g.run(t, verb)
	if status != cli.ExitOK || errs != "" {
		t.Errorf("%s: exit status %d, %s", verb, status, errs)
	}
	path := filepath.Join(g.dir, file)
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return out
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test ./internal/testing/e2e -run TestGolden -update", err)
	}
	for _, d := range omptest.DiffJSON(t, want, []byte(out)) {
		t.Errorf("%s: %s", verb, d)
	}
	return out
}

// checkStatus requires that diagnose draws the verdicts of the report, and that its exit status shows whether one
// is of a hang, or whether too little is known to exclude one.
func (g golden) checkStatus(t *testing.T, want *picture.Picture) {
	t.Helper()
	status, out, errs := g.run(t, "diagnose")
	if why := want.Undecided(); (errs != "") != (status == cli.ExitError) || !strings.Contains(errs, why) {
		t.Errorf("diagnose: %q, want %q", errs, why)
	}
	kinds := func(vs []picture.Verdict) (kinds []string) {
		for _, v := range vs {
			kinds = append(kinds, string(v.Kind)+": "+v.Summary)
		}
		return kinds
	}
	omptest.Equal(t, "verdicts of diagnose", kinds(e2e.Decode(t, out).Verdicts), kinds(want.Verdicts))
	expected := cli.ExitOK
	switch {
	case slices.ContainsFunc(want.Verdicts, diagnose.Hangs):
		expected = cli.ExitFound
	case slices.ContainsFunc(want.Verdicts, diagnose.Crashes):
		expected = cli.ExitCrash
	case want.Undecided() != "":
		expected = cli.ExitError
	}
	omptest.Equal(t, "exit status of diagnose", status, expected)
}
