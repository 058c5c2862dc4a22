package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/export"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

func golden(t *testing.T, name string) *picture.Picture {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/golden/" + name + "/picture.json")
	if err != nil {
		t.Fatal(err)
	}
	pic := new(picture.Picture)
	if err := json.Unmarshal(b, pic); err != nil {
		t.Fatal(err)
	}
	return pic
}

// hostile is a picture with names that contain syntax of the formats.
func hostile() *picture.Picture {
	frames := []picture.Frame{
		{Kind: picture.FrameUser, Function: "a\";]\n->b;c \x1b[31m", File: "</script>\u202e.c", Line: 3},
		{Kind: picture.FrameUser, Function: "main"},
	}
	return &picture.Picture{
		Target:  picture.Target{Kind: "core", Path: "co\"re\n"},
		Threads: []picture.Thread{{LWP: 7, UserStack: frames}},
		Stacks:  []picture.MergedStack{{Count: 2, Threads: []int{7, 8}, Frames: frames}},
		Facts: &picture.Facts{
			Waits: []picture.Wait{{Thread: 7, Kind: picture.WaitLock, Lock: "l\"", Name: "\"];x\\"}},
			Locks: []picture.Lock{{ID: "l\"", Owner: 8}},
		},
	}
}

func write(t *testing.T, f func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("characters without a look were written:\n%q", b.String())
	}
	return b.String()
}

func folded(t *testing.T, pic *picture.Picture) string {
	return write(t, func(b *strings.Builder) error { return export.Folded(b, pic) })
}

// TestFolded checks one line per stack, outermost frame first, with the number of threads.
func TestFolded(t *testing.T) {
	const want = "main lock_cycle.c:30;main [parallel] lock_cycle.c:34;deposit lock_cycle.c:13;<OMP-lock_wait> 1\n"
	if got := folded(t, golden(t, "llvm-deadlock")); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	got := folded(t, hostile())
	if strings.Count(got, "\n") != 1 || strings.Count(got, ";") != 1 || !strings.HasSuffix(got, " 2\n") {
		t.Errorf("not one line of two frames: %q", got)
	}
}

// TestSpeedscope checks the fields of the format, and that the weights are numbers of threads.
func TestSpeedscope(t *testing.T) {
	for _, pic := range []*picture.Picture{golden(t, "llvm-deadlock"), hostile(), {}} {
		got := write(t, func(b *strings.Builder) error { return export.Speedscope(b, pic) })
		var file struct {
			Shared   struct{ Frames []struct{ Name string } }
			Profiles []struct {
				Type     string
				EndValue int
				Samples  [][]int
				Weights  []int
			}
		}
		if err := json.Unmarshal([]byte(got), &file); err != nil || len(file.Profiles) != 1 {
			t.Fatalf("%v:\n%s", err, got)
		}
		p, threads := file.Profiles[0], 0
		for i, s := range p.Samples {
			threads += p.Weights[i]
			if len(s) != len(pic.Stacks[i].Frames) || len(s) == 0 || file.Shared.Frames[s[0]].Name == "" {
				t.Errorf("sample %v of %d frames", s, len(pic.Stacks[i].Frames))
			}
		}
		if p.Type != "sampled" || p.EndValue != threads || len(p.Samples) != len(pic.Stacks) {
			t.Errorf("%s, %d of %d, %d samples of %d", p.Type, threads, p.EndValue, len(p.Samples), len(pic.Stacks))
		}
	}
}

// TestDot checks that the cycle is marked, and that names stay inside their quotes.
func TestDot(t *testing.T) {
	pics := map[string]*picture.Picture{"deadlock": golden(t, "llvm-deadlock"), "hostile": hostile(), "empty": {}}
	for name, pic := range pics {
		got := write(t, func(b *strings.Builder) error { return export.Dot(b, pic) })
		if name == "deadlock" {
			for _, want := range []string{
				`label="thread 0/3 (LWP 5607)\ndeposit lock_cycle.c:13"`, `label="lock second `, `label="held by`,
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Count(got, "penwidth=2") != 8 {
				t.Errorf("not four nodes and four edges on the cycle:\n%s", got)
			}
		}
		for line := range strings.Lines(got) {
			bare := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, "")
			if strings.Count(bare, `"`)%2 != 0 {
				t.Errorf("%s: a quote is left open: %s", name, line)
			}
		}
		if dot, err := exec.LookPath("dot"); err == nil {
			cmd := exec.Command(dot, "-Tsvg", "-o", "/dev/null")
			cmd.Stdin = strings.NewReader(got)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: Graphviz: %v: %s", name, err, out)
			}
		}
	}
}
