package text_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

func ptr[T any](v T) *T { return &v }

// nasty is a picture of extremes: long names, multi-byte letters, many threads, deep nesting, errors.
func nasty() *picture.Picture {
	long := strings.Repeat("std::vector<std::pair<größe, 幅>>::", 5) + "operator()"
	deep := "/src/" + strings.Repeat("deep/", 40) + "file.cc"
	at, stack := ptr(picture.Hex(0x5555_5555_4321)), nastyStack(long)
	code := &picture.Code{Address: at, Name: long, File: deep, Line: 12345, LineFrom: "call site"}
	pic := &picture.Picture{
		Schema: picture.Schema,
		Target: picture.Target{
			Kind: "core", Path: "core.1234", PID: 1234, Executable: "/usr/bin/" + long, Signal: "SIGSEGV",
			CrashedLWP: 1234, FaultAddress: ptr(picture.Hex(16)), Frames: stack,
			Place: &picture.Place{Role: "worker"},
		},
		Runtimes: []picture.Runtime{{ID: "libomp", Name: "LLVM OpenMP runtime", Version: "16", Path: "/" +
			strings.Repeat("lib/", 30), Layout: "1 from memory", Tracking: true}},
		Warnings: []string{long, strings.Repeat("many short words ", 50)},
	}
	for i := range 50 {
		th := picture.Thread{
			LWP: 1234 + i, Role: "worker", Runtime: "libomp", Crashed: i == 0, Region: "0x1/3", Task: "0x2/3",
			ThreadNum: ptr(i), TeamSize: ptr(50), Level: ptr(3),
			State:  &picture.State{Name: "wait_lock", Source: "tracked", Evidence: "x"},
			WaitID: ptr(picture.Hex(0x7fff_1234_5678)), WaitKind: "lock", WaitName: long, UserStack: stack,
			Stack: stack, Errors: []string{long},
		}
		for l := range 4 {
			th.Levels = append(th.Levels, picture.LevelInfo{Level: l, ThreadNum: ptr(i), TeamSize: ptr(50)})
		}
		pic.Threads = append(pic.Threads, th)
		pic.Tasks = append(pic.Tasks, picture.Task{
			ID: picture.ID(fmt.Sprint("0x", i)), Kind: "explicit", State: "blocked", Parent: "0x7", Function: code,
			Thread: 1234 + i, WaitsFor: []picture.ID{"0x1", "0x2"}, Flags: []string{"untied", "detachable"},
			IncompleteChildren: ptr(3),
			Errors:             []string{long},
		})
	}
	var lwps []int
	for _, th := range pic.Threads {
		lwps = append(lwps, th.LWP)
	}
	for l := range 4 {
		r := picture.Region{ID: picture.ID(fmt.Sprintf("0x1/%d", l)), Level: l, TeamSize: 50, Function: code,
			Threads: lwps, League: 2, Serialized: true, Errors: []string{long}}
		if l > 0 {
			r.Parent = picture.ID(fmt.Sprintf("0x1/%d", l-1))
		}
		pic.Regions = append(pic.Regions, r)
	}
	pic.Stacks = []picture.MergedStack{{Count: 50, Threads: lwps, Frames: stack}}
	pic.ICVs = []picture.ICV{{Name: "nthreads-var", Scope: "task", Task: "0x2/3", Value: long, Source: long},
		{Name: "run-sched-var", Scope: "thread", Thread: 1, Error: long}}
	pic.ControlVars = []picture.ControlVar{{Name: "OMP_PLACES", Value: long, Source: long}}
	pic.Layout = []picture.LayoutEntry{
		{Runtime: "libomp", Type: "kmp_base_info_t", Name: "th_team",
			Claims: []picture.Claim{{Source: "memory", Value: "64"}, {Source: "code", Value: "72"}}},
		{Runtime: "libomp", Name: "__kmp_threads", Address: ptr(picture.Hex(4096)), Size: 8, Source: "memory",
			Agreed: []string{"code", "table 16"}},
	}
	pic.Checks = []picture.Check{{Name: "files", Status: picture.CheckMissing, Detail: long, Fix: long}}
	return pic
}

// nastyStack is a stack with frames of each kind.
func nastyStack(long string) []picture.Frame {
	return []picture.Frame{
		{Kind: picture.FramePseudo, Function: "<OMP-lock_wait>"},
		{Kind: picture.FrameUser, Function: long, File: "/src/f.cc", Line: 7, Inlined: true},
		{Kind: picture.FrameUser, Function: "f", File: "/src/f.cc", Line: 7,
			Outlined: picture.Outlined{In: long, Construct: "parallel"}, PC: ptr(picture.Hex(1)), How: "frame pointer"},
		{Kind: picture.FrameSystem, PC: ptr(picture.Hex(0x7fff_0000_1234)), Module: "libc.so.6"},
	}
}

// printers are all functions that print a picture.
var printers = map[string]func(*text.Printer, *picture.Picture){
	"report": text.Report, "threads": text.Threads, "regions": text.Regions, "tasks": text.Tasks, "stacks": text.Stacks,
	"native": text.NativeStacks, "icvs": text.ICVs, "layout": text.Layout, "doctor": text.Doctor,
	"warnings": text.Warnings,
	"stream":   func(p *text.Printer, pic *picture.Picture) { text.TaskStream(p, slices.Values(pic.Tasks), true) },
}

func printed(t *testing.T, show func(*text.Printer, *picture.Picture), pic *picture.Picture, color bool,
	width int) string {
	t.Helper()
	var b strings.Builder
	p := text.New(&b, color, width)
	show(p, pic)
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	return b.String()
}

var colors = regexp.MustCompile(`\x1b\[[0-9]*m`)

// TestWidth prints everything in several widths, with and without colours: lines must not be too long, and
// colours must not change the text.
func TestWidth(t *testing.T) {
	for name, show := range printers {
		for _, width := range []int{text.NoLimit, text.MinWidth, 80, 133} {
			plain := printed(t, show, nasty(), false, width)
			colored := printed(t, show, nasty(), true, width)
			if got := colors.ReplaceAllString(colored, ""); got != plain {
				t.Errorf("%s, width %d: colours change the text:\n%s\n%s", name, width, got, plain)
			}
			if colored == plain && name != "tasks" && name != "stream" && name != "layout" {
				t.Errorf("%s has no colour", name)
			}
			for line := range strings.SplitSeq(plain, "\n") {
				n := utf8.RuneCountInString(line)
				if width != text.NoLimit && n > width || strings.HasSuffix(line, " ") || !utf8.ValidString(line) {
					t.Errorf("%s, width %d: %d columns: %q", name, width, n, line)
				}
			}
			if strings.Contains(plain, "…") && width == text.NoLimit {
				t.Errorf("%s: cut without a limit:\n%s", name, plain)
			}
		}
	}
}

// TestColorsEnd checks that every line ends in the terminal's own colours.
func TestColorsEnd(t *testing.T) {
	for name, show := range printers {
		for line := range strings.SplitSeq(printed(t, show, nasty(), true, 70), "\n") {
			codes := colors.FindAllString(line, -1)
			if len(codes) > 0 && codes[len(codes)-1] != "\x1b[0m" {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// TestEmpty prints a picture without any readable part.
func TestEmpty(t *testing.T) {
	for name, show := range printers {
		out := printed(t, show, &picture.Picture{}, false, 80)
		if strings.Contains(out, "%!") || strings.Contains(out, "<nil>") {
			t.Errorf("%s: %q", name, out)
		}
	}
	got := printed(t, text.Report, &picture.Picture{Target: picture.Target{Kind: "core", Path: "core.1"}}, false, 80)
	if !strings.Contains(got, "core of core.1") || !strings.Contains(got, "`ompd-inspect doctor core.1` says why") {
		t.Errorf("%q", got)
	}
}

var errFull = errors.New("disk full")

// full is a writer that accepts n lines.
type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriter checks that the first error of the writer is kept, and that no output follows it.
func TestWriter(t *testing.T) {
	for name, show := range printers {
		w := &full{n: 1}
		p := text.New(w, false, 80)
		show(p, nasty())
		if !errors.Is(p.Err(), errFull) || w.n != -1 {
			t.Errorf("%s: %v after %d lines too many", name, p.Err(), -w.n-1)
		}
	}
	if p := text.New(io.Discard, true, 80); p.Err() != nil {
		t.Error(p.Err())
	}
}

// TestTasksAlike checks that equal explicit tasks are one line, also in a stream; running ones have a line
// each.
func TestTasksAlike(t *testing.T) {
	var tasks []picture.Task
	for i := range 30000 {
		tasks = append(tasks, picture.Task{ID: picture.ID(fmt.Sprintf("%#x", i+1)), Kind: "explicit", State: "queued",
			Parent: "0x1", Function: &picture.Code{Name: "f", File: "f.c", Line: 3}})
	}
	tasks[7].State, tasks[7].Thread = "running", 12
	tasks[8].Predecessors, tasks[8].State = 1, "blocked"
	out := printed(t, func(p *text.Printer, pic *picture.Picture) {
		text.TaskStream(p, slices.Values(pic.Tasks),
			false)
	}, &picture.Picture{Tasks: tasks}, false, 0)
	for _, want := range []string{"29998×  explicit  queued", "explicit  running  12", "1 unfinished predecessor",
		"TASKS 30000: 30000 explicit (1 running, 29998 queued, 1 blocked)"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out = printed(t, func(p *text.Printer, pic *picture.Picture) { text.TaskStream(p, slices.Values(pic.Tasks), true) },
		&picture.Picture{Tasks: tasks}, false, 0)
	if n := strings.Count(out, "\n"); n < 30000 || n > 30020 || strings.Contains(out, "×") {
		t.Errorf("%d lines", n)
	}
}

// TestICVsAlike checks that a variable with one value in several places is one line.
func TestICVsAlike(t *testing.T) {
	pic := &picture.Picture{}
	for i := range 6 {
		pic.ICVs = append(pic.ICVs, picture.ICV{Name: "dyn-var", Scope: "task", Task: picture.ID(fmt.Sprint("t", i)),
			Value: fmt.Sprint(i == 5), Source: "td_icvs"})
	}
	out := printed(t, text.ICVs, pic, false, 0)
	for _, want := range []string{"dyn-var  false  task t0, task t1, task t2, task t3 and 1 more  td_icvs",
		"dyn-var  true   task t5"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
