package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// recordedStats is the part of the JSON of `trace stats` that is compared with a profile.
type recordedStats struct {
	Threads     int
	Nanoseconds int64
	Rows        []struct {
		Text   string
		Frame  *picture.Frame
		Waited int64
	}
}

// TestProfileAsRecorder profiles twenty programs that the recorder records, too: ten ways to wait, on two runtimes. The
// waits in each function, and all of them together, differ from the recorder's by no more than five standard errors; a
// campaign asks for three.
func TestProfileAsRecorder(t *testing.T) {
	for by, rt := range map[omptest.Compiler]omptest.Runtime{
		omptest.LLVM: omptest.RuntimeOf(t, 16), omptest.GCC: omptest.Libgomp(t),
	} {
		shares := omptest.Compile(t, omptest.Build{Program: "shares", Compiler: by})
		for _, way := range []string{
			"lock", "nest", "critical", "barrier", "loop", "sections", "single", "ordered", "master",
		} {
			t.Run(rt.Name+"/"+way, func(t *testing.T) {
				compareWithRecorder(t, omptest.Run{Exe: shares, Runtime: rt}, way)
			})
		}
		t.Run(rt.Name+"/phases", func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "phases", Compiler: by})
			compareWithRecorder(t, omptest.Run{Exe: exe, Runtime: rt}, "1000000")
		})
	}
}

// compareWithRecorder profiles and records a program, and compares them.
func compareWithRecorder(t *testing.T, run omptest.Run, arg string) {
	t.Helper()
	c := run.Command(t.TempDir(), arg)
	tool := e2e.Process(append([]string{"record", "--library", omptest.Recorder(t), "--"}, c.Args...)...)
	tool.Env = c.Env
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = tool.Process.Kill()
		_ = tool.Wait()
	})
	pid := strconv.Itoa(tool.Process.Pid)
	ask := func(args ...string) []byte {
		status, out, errs := e2e.Output(t, append(args, "--json", pid)...)
		if status != cli.ExitOK {
			t.Fatalf("%q: exit status %d: %s", args, status, errs)
		}
		return []byte(out)
	}
	for threads := 0; threads < 2; { // the program is starting
		status, out, errs := e2e.Output(t, "profile", "--quiet", "--samples", "1", "--json", pid)
		switch {
		case status == cli.ExitOK:
			threads = readProfile(t, []byte(out)).Threads
		case !isMeanwhile(errs):
			t.Fatalf("exit status %d: %s", status, errs)
		}
	}
	samples := strconv.Itoa(omptest.Number(t, "samples", 20))
	seconds := fmt.Sprintf("%ds", omptest.Number(t, "seconds", 5))
	p := readProfile(t, ask("profile", "--quiet", "--samples", samples, "--for", seconds))
	var stats recordedStats
	if err := json.Unmarshal(ask("trace", "stats"), &stats); err != nil {
		t.Fatal(err)
	}
	errors := omptest.Number(t, "errors", 5)
	recorded, profiled := map[string]float64{}, map[string]float64{}
	for _, row := range stats.Rows {
		if share := float64(row.Waited) / float64(stats.Nanoseconds) / float64(stats.Threads); row.Frame != nil {
			recorded[row.Frame.Function] += share
			recorded["all"] += share
		}
	}
	for _, at := range p.Places {
		if share := at.Wait / p.ThreadSeconds; at.Frame != nil {
			profiled[at.Frame.Function] += share
			profiled["all"] += share
		}
	}
	for _, function := range slices.Sorted(maps.Keys(recorded)) {
		got, want := profiled[function], recorded[function]
		if function == "" || want == 0 { // the recorder names no function of a region
			continue
		}
		bound := float64(errors) / 2 * profile.Doubt(want, p.Samples)
		t.Logf("%s: %.3f by %d samples, recorded %.3f ± %.3f", function, got, p.Samples, want, bound)
		if math.Abs(got-want) > bound {
			t.Errorf("%s: %.3f, recorded %.3f ± %.3f", function, got, want, bound)
		}
	}
	if recorded["all"] == 0 {
		t.Errorf("nothing waited: %+v", stats)
	}
}
