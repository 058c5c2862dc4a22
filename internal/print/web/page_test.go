package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// draw returns the page of a picture.
func draw(t testing.TB, pic *picture.Picture, o web.Options) string {
	t.Helper()
	var b strings.Builder
	if err := web.Write(&b, pic, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// balanced checks that all tags are closed in order, so that names cannot have escaped from their places.
func balanced(t *testing.T, name, page string) {
	t.Helper()
	void := map[string]bool{"meta": true, "input": true, "path": true, "rect": true, "!doctype": true}
	var open []string
	page = regexp.MustCompile(`(?s)<script>.*?</script>|<style>.*?</style>|<!--.*?-->`).ReplaceAllString(page, "")
	for _, m := range regexp.MustCompile(`<(/?)([!a-zA-Z0-9]+)[^>]*?>`).FindAllStringSubmatch(page, -1) {
		tag := strings.ToLower(m[2])
		switch {
		case m[1] == "" && !void[tag]:
			open = append(open, tag)
		case m[1] == "/" && !void[tag]:
			if len(open) == 0 || open[len(open)-1] != tag {
				t.Fatalf("%s: </%s> within %v", name, tag, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Errorf("%s: %v are left open", name, open)
	}
}

// TestStructure checks that the pages of real cores have all applicable parts with their data.
func TestStructure(t *testing.T) {
	for name, want := range map[string][]string{
		"llvm-deadlock": {
			"DEADLOCK", `id="waits"`, `class="box lock cyclic"`, "lock second", "acquired at line 18",
			"not released on any path", `id="stacks"`, "deposit lock_cycle.c:13", `id="regions"`, "team of 3",
			`id="threads"`, "wait_lock",
		},
		"gnu-deadlock-join": {"DEADLOCK", "the end of LWP 5968", "not reached by", "acquired at line 25"},
		"llvm-crash":        {"<title>CRASH: crash_task", "SIG", `id="tasks"`},
		"llvm-nested":       {"level 2, active 2, team of 3", "at a barrier", "parallel nested.c:6"},
		"llvm-tasks-deps":   {"explicit task  tasks_deps.c:22", "2 blocked", "waits for", "2 × explicit task"},
		"llvm-healthy":      {"No verdict", "nothing is wrong here"},
	} {
		page := draw(t, golden(t, name), web.Options{NoVerdict: "nothing is wrong here"})
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s: no %q", name, w)
			}
		}
		balanced(t, name, page)
		for _, id := range regexp.MustCompile(`<a href="#([a-z]+)"`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, ` id="`+id[1]+`"`) {
				t.Errorf("%s: nothing is at #%s", name, id[1])
			}
		}
	}
}

// TestCycle checks that the arrows of a deadlock form one cycle.
func TestCycle(t *testing.T) {
	page := draw(t, golden(t, "llvm-deadlock"), web.Options{})
	if n := strings.Count(page, `class="arrow cyclic"`); n != 4 {
		t.Errorf("%d arrows are on the cycle, want 4", n)
	}
}

// TestPolicy checks that the policy allows only the page's own style and script, and that no link leads
// elsewhere.
func TestPolicy(t *testing.T) {
	page := draw(t, golden(t, "llvm-deadlock"), web.Options{})
	_, policy, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ = strings.Cut(policy, `"`)
	for _, part := range []string{"style", "script"} {
		_, body, _ := strings.Cut(page, "<"+part+">")
		body, _, _ = strings.Cut(body, "</"+part+">")
		sum := sha256.Sum256([]byte(body))
		want := part + "-src &#39;sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "&#39;"
		if len(body) < 100 || !strings.Contains(strings.ReplaceAll(policy, "&#43;", "+"), want) {
			t.Errorf("the policy %s does not have %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src &#39;none&#39;;") || strings.Contains(policy, "connect-src") {
		t.Errorf("policy of a file: %s", policy)
	}
	for _, wrong := range []string{"http:", "https:", "src=", " style=", " onclick=", "@import", "url(h"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	served := draw(t, golden(t, "llvm-deadlock"), web.Options{Refresh: 5})
	if !strings.Contains(served, "connect-src &#39;self&#39;") || !strings.Contains(served, `data-refresh="5"`) {
		t.Error("a page that is served cannot ask for a new look")
	}
}

// TestStackCounts draws stacks of a picture that claims no threads for them, or impossible numbers.
func TestStackCounts(t *testing.T) {
	for _, counts := range [][]int{{0}, {-1}, {1, -1}, {1 << 62, 1 << 62}} {
		pic := golden(t, "llvm-deadlock")
		frames := pic.Stacks[0].Frames
		pic.Stacks = nil
		for _, n := range counts {
			pic.Stacks = append(pic.Stacks, picture.MergedStack{Count: n, Frames: frames})
		}
		if page := draw(t, pic, web.Options{}); !strings.Contains(page, "DEADLOCK") {
			t.Errorf("%d: the page has no verdict", counts)
		}
	}
}

// TestHostile checks that names with markup remain text, and cannot reverse the text around them.
func TestHostile(t *testing.T) {
	const evil = "</script></style></title><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\x1b[31m"
	frame := picture.Frame{Kind: picture.FrameUser, Function: evil, File: "/" + evil + ".c", Line: 3}
	frame.In, frame.Construct = evil, evil
	code := &picture.Code{Name: evil, File: evil, Line: 1}
	pic := &picture.Picture{
		Target:   picture.Target{Kind: evil, Path: evil, Executable: evil, Command: evil, Signal: evil, Arch: evil},
		Runtimes: []picture.Runtime{{Name: evil, Version: evil, Path: evil}},
		Threads: []picture.Thread{{
			LWP: 7, Role: evil, State: &picture.State{Name: evil, Source: evil}, UserStack: []picture.Frame{frame},
			WaitID: ptr(picture.Hex(7)), WaitName: evil, WaitKind: evil, Loop: &picture.Loop{Schedule: evil},
			Errors: []string{evil},
		}},
		Regions: []picture.Region{{ID: evil, Level: 1, Function: code, Errors: []string{evil}}},
		Tasks: []picture.Task{{
			ID: evil, Kind: evil, State: picture.TaskBlocked, WaitsFor: []picture.ID{evil}, Function: code,
		}},
		Stacks:   []picture.MergedStack{{Count: 1, Threads: []int{7}, Frames: []picture.Frame{frame}}},
		Warnings: []string{evil},
		Facts: &picture.Facts{
			Waits:      []picture.Wait{{Thread: 7, Kind: evil, Lock: evil, Name: evil}},
			Locks:      []picture.Lock{{ID: evil, Owner: 8}},
			Processors: &picture.Processors{Quota: &picture.Quota{Source: evil}},
		},
		Verdicts: []picture.Verdict{{
			Kind: evil, Severity: evil, Certainty: evil, Summary: evil, Explanation: evil, Evidence: []string{evil},
			Fix: evil, Threads: []int{7}, Cycle: []picture.CycleStep{{
				Thread: 7, HeldBy: 7, HeldEvidence: evil, Frames: []picture.Frame{frame}, HeldAt: &frame,
			}},
		}},
	}
	open := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("1\n2\n" + evil + "\n4\n")), nil
	}
	page := draw(t, pic, web.Options{NoVerdict: evil, Source: open})
	balanced(t, "hostile", page)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	odd := strings.Contains(page, "<img") || strings.ContainsAny(page, "\x1b\u202e")
	if odd || strings.Count(page, "alert(1)") < 20 {
		t.Errorf("names are not there as text:\n%s", page)
	}
}

// TestSize checks the size of a page of 1,024 threads and 100,000 tasks.
func TestSize(t *testing.T) {
	page := draw(t, large(1024, 100000), web.Options{})
	const most = 3 << 20
	if len(page) > most {
		t.Errorf("%d bytes, more than %d", len(page), most)
	}
	balanced(t, "large", page)
	for _, want := range []string{
		"682 threads", "342 threads", `id="loops"`, "36000 left", "2736 running", `id="cores"`, "24999 blocked",
		"279 more threads",
		"24999 × explicit task  solve.c:60  stage_0",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestCut checks that omitted stacks, frames and threads of a deadlock are counted.
func TestCut(t *testing.T) {
	pic := golden(t, "llvm-deadlock")
	frame := pic.Stacks[0].Frames[0]
	pic.Stacks[0].Frames = slices.Repeat([]picture.Frame{frame}, 100)
	for i := range 230 {
		f := picture.Frame{Kind: picture.FrameUser, Function: fmt.Sprintf("f%d", i)}
		pic.Stacks = append(pic.Stacks, picture.MergedStack{Count: 2, Threads: []int{1}, Frames: []picture.Frame{f}})
	}
	v := &pic.Verdicts[0]
	v.Cycle = slices.Repeat(v.Cycle, 20)
	page := draw(t, pic, web.Options{})
	stacks := len(pic.Stacks)
	for _, want := range []string{
		"In words: 200 different stacks; ",
		fmt.Sprintf("%d more stacks of %d threads are not listed.", stacks-200, 2*(stacks-200)),
		"52 inner frames of 1 thread are not drawn: only the 48 outermost",
		fmt.Sprintf("… and %d more threads of the cycle", len(v.Cycle)-32), "… 36 more frames",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	balanced(t, "cut", page)
}

// TestSources shows the source lines in verdicts with their notes, and no lines of files that are not sources.
func TestSources(t *testing.T) {
	text := strings.Repeat("\tx = 1;\n", 12) + "\tomp_set_lock(&second);\n" + strings.Repeat("\ty;\n", 40)
	var asked []string
	open := func(name string) (io.ReadCloser, error) {
		if asked = append(asked, name); name != "/src/lock_cycle.c" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	page := draw(t, golden(t, "llvm-deadlock"), web.Options{Source: open})
	for _, want := range []string{
		`<span class="n">13</span>    omp_set_lock(&amp;second);`,
		"thread 0 of 3 (LWP 5607) waits here for lock second",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the sources", want)
		}
	}
	if strings.Contains(page, `<span class="n">34</span>`) {
		t.Error("a line is shown of which nothing is said")
	}
	pic := golden(t, "llvm-deadlock")
	for i := range pic.Verdicts[0].Cycle {
		pic.Verdicts[0].Cycle[i].HeldAt.File = "/home/u/.ssh/id_rsa"
		for j := range pic.Verdicts[0].Cycle[i].Frames {
			pic.Verdicts[0].Cycle[i].Frames[j].File = "/etc/shadow"
		}
	}
	asked = nil
	draw(t, pic, web.Options{Source: open})
	for _, name := range asked {
		if !strings.HasSuffix(name, ".c") && !strings.HasSuffix(name, ".h") {
			t.Errorf("%s was opened", name)
		}
	}
}

// full is a file without space.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFull checks the error of a full file.
func TestFull(t *testing.T) {
	if err := web.Write(full{}, golden(t, "llvm-deadlock"), web.Options{}); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}

// TestEmpty draws a picture without data.
func TestEmpty(t *testing.T) {
	page := draw(t, new(picture.Picture), web.Options{})
	balanced(t, "empty", page)
	if !strings.HasPrefix(page, web.Start) || !strings.Contains(page, "No verdict") {
		t.Error(page)
	}
}
