package report_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

var small = picture.Picture{
	Schema:   picture.Schema,
	Target:   picture.Target{Kind: "core", Path: "core.7", Signal: "SIGABRT"},
	Runtimes: []picture.Runtime{{ID: "libomp", Name: "LLVM OpenMP runtime", Layout: "9 from memory"}},
	Layout:   []picture.LayoutEntry{{Runtime: "libomp", Name: "__kmp_threads", Size: 8, Source: "memory"}},
	Threads: []picture.Thread{{LWP: 7, Role: "initial", Runtime: "libomp",
		Stack: []picture.Frame{{Kind: picture.FrameUser, Function: "native_one"}}}},
	Stacks: []picture.MergedStack{{Count: 1, Threads: []int{7},
		Frames: []picture.Frame{{Kind: picture.FrameUser, Function: "user_one"}}}},
	Warnings: []string{"something was not read"},
}

// smallProfile is a profile with one of each part.
var smallProfile = picture.Profile{
	Schema: picture.ProfileSchema, Target: picture.Target{Kind: picture.TargetProcess, PID: 7},
	Runtimes: small.Runtimes, End: picture.ProfileExited, Samples: 100, Seconds: 10, ThreadSeconds: 20, Work: 14,
	Wait: 6, Threads: 2, Stopped: 0.1, Own: 0.2, CPU: 5, Outside: &picture.ProfileTime{Wait: 10},
	Findings: []picture.ProfileFinding{{Kind: picture.FindingStarved, Text: "no processor", Fix: "fewer threads"}},
	Waits:    []picture.ProfileWait{{Kind: "lock", Name: "ledger", Seconds: 6}},
	Places: []picture.ProfilePlace{{
		Region: &picture.Code{File: "/src/a.c", Line: 3}, Frame: &small.Stacks[0].Frames[0], Work: 14, Wait: 6,
		Waits: []picture.ProfileWait{{Kind: "lock", Name: "ledger", Seconds: 6}},
	}},
	Barriers: []picture.ProfileBarrier{{
		State: picture.StateBarrierExplicit, Seconds: 1, Span: 1,
		Late: []picture.ProfileLate{{ThreadNum: 1, Seconds: 0.8, Work: 0.8, Share: 1}},
	}},
	Stacks: []picture.ProfileStack{
		{Frames: small.Stacks[0].Frames, Class: picture.ProfileWork, Seconds: 14, Samples: 140},
		{
			Frames: small.Stacks[0].Frames, Class: picture.ProfileWaits, Kind: "lock", Name: "ledger", Seconds: 6,
			Samples: 60,
		},
	},
	Warnings: small.Warnings,
}

// TestProfileFormats prints a profile in the formats of other tools. Each file is recognized as one of this tool, if
// its format has a place for that; a format that cannot show a profile says which verb it belongs to.
func TestProfileFormats(t *testing.T) {
	for f, want := range map[report.Format]string{
		report.HTML: "NO PROCESSOR", report.Folded: "user_one 14000000\nuser_one 6000000\n",
		report.Speedscope: `"unit":"microseconds"`, report.Pprof: "\x1f\x8b",
	} {
		p, b := printer(t, f, report.Options{})
		if err := p.Profile(&smallProfile); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, no %q in\n%.2000s", f, err, want, b)
		}
		if ours := report.Ours(strings.NewReader(b.String())); ours != (f != report.Folded) {
			t.Errorf("%s: ours %v", f, ours)
		}
	}
	p, _ := printer(t, report.Dot, report.Options{})
	if err := p.Profile(&smallProfile); !errors.Is(err, report.ErrFormat) {
		t.Errorf("dot: %v", err)
	}
	p, _ = printer(t, report.Pprof, report.Options{})
	if err := p.Picture(&small, report.Whole); !errors.Is(err, report.ErrFormat) {
		t.Errorf("pprof of a picture: %v", err)
	}
}

func printer(t *testing.T, f report.Format, o report.Options) (report.Printer, *strings.Builder) {
	t.Helper()
	var b strings.Builder
	p, err := report.New(f, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, &b
}

// TestJSONEscapes prints characters without a glyph, which would change the direction of text, in all forms
// of JSON: they are escaped, and read back as they were.
func TestJSONEscapes(t *testing.T) {
	const evil = "a\u202eb\u2066\U000e0041 \u00e4\u65e5"
	pic := small
	pic.Target.Path = evil
	p, out := printer(t, report.JSON, report.Options{})
	err := errors.Join(p.Picture(&pic, report.Whole), p.Look(&picture.Look{Time: evil}))
	if err != nil || strings.ContainsAny(out.String(), "\u202e\u2066\U000e0041") ||
		strings.Count(out.String(), `a\u202eb\u2066\udb40\udc41 ä日`) != 2 {
		t.Errorf("%v: %s", err, out)
	}
	var back picture.Picture
	if err := json.NewDecoder(strings.NewReader(out.String())).Decode(&back); err != nil || back.Target.Path != evil {
		t.Errorf("read back: %q, %v", back.Target.Path, err)
	}
}

// TestFormats prints every answer in every format, and checks the properties of each format.
func TestFormats(t *testing.T) {
	warn := picture.Picture{Warnings: []string{"something was not read"}}
	answers := map[string]struct {
		print func(report.Printer) error
		text  []string
		json  []string
	}{
		"picture": {func(p report.Printer) error { return p.Picture(&small, report.Whole) },
			[]string{"THREADS", "user_one", "! something"}, []string{`"lwp": 7`, `"user_one"`}},
		"breakpoints": {func(p report.Printer) error {
			return p.Breakpoints(&picture.Breakpoints{Schema: "b", Warnings: warn.Warnings})
		}, []string{"! something"}, []string{`"schema": "b"`}},
		"processes": {func(p report.Printer) error { return p.Processes(&picture.Processes{Hidden: 3}) },
			[]string{"3 processes"}, []string{`"hidden": 3`}},
		"look": {func(p report.Printer) error { return p.Look(&picture.Look{Picture: &small}) },
			[]string{"core of core.7"}, []string{`"path":"core.7"`}},
		"profile": {func(p report.Printer) error { return p.Profile(&smallProfile) },
			[]string{"NO PROCESSOR", "lock ledger", "thread 1 (80 %)", "30.0 %", "! something"},
			[]string{`"schema": "ompd-inspect/profile/1.0"`, `"ledger"`}},
		"tasks": {func(p report.Printer) error {
			pic := small
			pic.Warnings = nil
			tasks := []picture.Task{{ID: "0x1", Kind: "explicit", State: "queued"}}
			return p.Tasks(&pic, slices.Values(tasks),
				func() error { pic.Warnings = []string{"a late one"}; return nil })
		}, []string{"queued", "! a late one"}, []string{`"state":"queued"`, `"a late one"`}},
	}
	for name, a := range answers {
		for f, want := range map[report.Format][]string{report.Text: a.text, report.JSON: a.json} {
			p, b := printer(t, f, report.Options{})
			if err := a.print(p); err != nil {
				t.Errorf("%s as %s: %v", name, f, err)
			}
			for _, w := range want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("%s as %s: no %q in\n%s", name, f, w, b)
				}
			}
			if f == report.JSON && !json.Valid([]byte(b.String())) {
				t.Errorf("%s: no JSON:\n%s", name, b)
			}
		}
	}
}

// TestViews checks that each view has its part, and the warnings once.
func TestViews(t *testing.T) {
	for v, want := range map[report.View]string{
		report.Whole: "REGIONS", report.Verdicts: "core of core.7", report.Threads: "THREADS",
		report.Regions: "REGIONS",
		report.Stacks:  "user_one", report.ICVs: "WARNINGS", report.Layout: "FIELD", report.Doctor: "core.7",
	} {
		p, b := printer(t, report.Text, report.Options{})
		if err := p.Picture(&small, v); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || strings.Count(b.String(), "something was not read") != 1 {
			t.Errorf("view %d: no %q, or not one warning:\n%s", v, want, b)
		}
	}
}

// TestNative checks that native stacks replace merged ones, or follow the report.
func TestNative(t *testing.T) {
	for v, user := range map[report.View]bool{report.Stacks: false, report.Whole: true} {
		p, b := printer(t, report.Text, report.Options{Native: true})
		if err := p.Picture(&small, v); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "native_one") || strings.Contains(b.String(), "user_one") != user {
			t.Errorf("view %d:\n%s", v, b)
		}
	}
}

// TestErrors checks that an error between the parts of an answer reaches the caller.
func TestErrors(t *testing.T) {
	errLate := errors.New("late")
	for _, f := range []report.Format{report.Text, report.JSON} {
		p, _ := printer(t, f, report.Options{})
		if err := p.Tasks(&small, slices.Values([]picture.Task{{}}), func() error { return errLate }); !errors.Is(err,
			errLate) {
			t.Errorf("%s: %v", f, err)
		}
	}
	if _, err := report.New("pdf", nil, report.Options{}); err == nil ||
		!strings.Contains(err.Error(), "text, json, html, dot") {
		t.Errorf("an unknown format: %v", err)
	}
}
