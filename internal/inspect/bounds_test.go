package inspect_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// counter is a core that counts the reads and the bytes read.
type counter struct {
	*corefile.Core
	reads, bytes int
}

// ReadMemory reads from the core.
func (c *counter) ReadMemory(a callbacks.Address, b []byte) error {
	c.reads++
	c.bytes += len(b)
	return c.Core.ReadMemory(a, b)
}

// Lend lends no memory: all reads go through ReadMemory.
func (*counter) Lend(callbacks.Address, uint64) []byte { return nil }

// costOf returns the reads of a report of a core of a program with n threads.
func costOf(t *testing.T, n int) *counter {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: "many"})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel,
		Args: []string{strconv.Itoa(n)}})
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	c := &counter{Core: core}
	mods, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	procs, err := extended.Open(c, readers.Options{})
	if err != nil || len(procs) != 1 {
		t.Fatalf("%d runtimes, %v", len(procs), err)
	}
	cfg := inspect.Config{
		Target: c, Unwinder: unwind.New(c, core.Arch(), mods), Symbolizer: symbolize.New(mods, symbolize.Options{}),
		Runtimes: []rtl.Runtime{procs[0]},
	}
	pic := pictureOf(t, cfg, picture.ReportParts())
	if len(pic.Threads) != n || len(pic.Warnings) > 0 {
		t.Errorf("%d threads, %v", len(pic.Threads), pic.Warnings)
	}
	return c
}

// TestCostPerThread checks that a thread of 256 costs about as much as one of 64. The depth at which a thread
// waits in the runtime varies by chance; a cost that grew with the number of threads would be four times as high.
func TestCostPerThread(t *testing.T) {
	none, few, many := costOf(t, 2), costOf(t, 64), costOf(t, 256)
	small, large := (few.reads-none.reads)/62, (many.reads-none.reads)/254
	if small == 0 || large > 2*small {
		t.Errorf("%d reads a thread of 64, %d of 256", small, large)
	}
	small, large = (few.bytes-none.bytes)/62, (many.bytes-none.bytes)/254
	if small == 0 || large > 2*small {
		t.Errorf("%d bytes a thread of 64, %d of 256", small, large)
	}
	t.Logf("%d bytes a thread; 2 threads: %d reads, 256 threads: %d", large, none.reads, many.reads)
}

// bare is a target without optional capabilities.
type bare struct{ callbacks.Target }

// TestBareTarget inspects a target without registers and modules, and without names and stacks: the picture has
// the runtime's own data.
func TestBareTarget(t *testing.T) {
	r := coreOf(t, "nested", 16)
	cfg := configOf(t, r.Core)
	whole := pictureOf(t, cfg, picture.ReportParts())
	cfg.Target, cfg.Symbolizer, cfg.Unwinder = bare{cfg.Target}, nil, nil
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pic := in.Picture(picture.Parts{Threads: true, Regions: true, Tasks: true, ICVs: true, Stacks: true, Native: true})
	if len(pic.Threads) != len(whole.Threads) || len(pic.Regions) != len(whole.Regions) ||
		len(pic.Tasks) != len(whole.Tasks) || len(pic.ICVs) == 0 {
		t.Errorf("%d threads, %d regions, %d tasks, %d variables", len(pic.Threads), len(pic.Regions), len(pic.Tasks),
			len(pic.ICVs))
	}
	for i, th := range pic.Threads {
		w := whole.Threads[i]
		if th.LWP != w.LWP || *th.ThreadNum != *w.ThreadNum || th.Region != w.Region || th.State == nil ||
			len(th.Stack) > 0 {
			t.Errorf("LWP %d: %+v, want %+v", th.LWP, th, w)
		}
	}
	for i, r := range pic.Regions {
		if r.Level > 0 && (r.Function == nil || r.Function.Line != whole.Regions[i].Function.Line) {
			t.Errorf("region %s: %+v, want %+v", r.ID, r.Function, whole.Regions[i].Function)
		}
	}
	missing := ""
	for _, c := range in.Doctor() {
		if c.Status != picture.CheckOK && c.Fix == "" && c.Name != "files" {
			t.Errorf("%s is %s without a fix: %s", c.Name, c.Status, c.Detail)
		}
		if c.Status == picture.CheckMissing {
			missing += c.Name + " "
		}
	}
	if !strings.Contains(missing, "threads") || !strings.Contains(missing, "stacks") {
		t.Errorf("doctor misses only %q", missing)
	}
}

// TestParts checks that a picture has the wanted part, and no other.
func TestParts(t *testing.T) {
	cfg := configOf(t, coreOf(t, "tasks_deps", 16).Core)
	for _, tt := range []struct {
		want picture.Parts
		has  func(*picture.Picture) bool
	}{
		{picture.Parts{Threads: true}, func(p *picture.Picture) bool { return len(p.Threads) == 2 }},
		{picture.Parts{Regions: true}, func(p *picture.Picture) bool { return len(p.Regions) == 2 }},
		{picture.Parts{Tasks: true}, func(p *picture.Picture) bool { return len(p.Tasks) == 7 }},
		{picture.Parts{ICVs: true}, func(p *picture.Picture) bool { return len(p.ICVs) > 30 }},
		{picture.Parts{Stacks: true}, func(p *picture.Picture) bool { return len(p.Stacks) == 2 }},
		{picture.Parts{}, func(p *picture.Picture) bool { return len(p.Runtimes) == 1 }},
	} {
		p := pictureOf(t, cfg, tt.want)
		got := picture.Parts{
			Threads: p.Threads != nil, Regions: p.Regions != nil, Tasks: p.Tasks != nil, ICVs: p.ICVs != nil,
			Stacks: p.Stacks != nil,
		}
		if got != tt.want || !tt.has(p) || p.Target.Threads != 2 {
			t.Errorf("%+v: parts %+v", tt.want, got)
		}
	}
}
