package generated

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// steps compares each step of a verdict's cycle with the notes: the thread's wait and its line, the holder, and
// the line of the acquisition.
func (j judge) steps(v picture.Verdict) {
	for _, c := range v.Cycle {
		s := j.all[c.Thread]
		if s == nil || !s.top().exclusive() {
			continue
		}
		top := s.top()
		if a := c.WaitsFor.Address; a != nil && top.Kind != NoteCritical && uint64(*a) != top.Object {
			j.out.find("wrong lock of a verdict", "LWP %d waits for %s %#x, truth %v",
				c.Thread, c.WaitsFor.Name, uint64(*a), top)
		}
		if line := innermost(c.Frames); line != 0 && line != int(top.Line) {
			j.out.find("wrong line of a verdict", "LWP %d waits at line %d, truth %v", c.Thread, line, top)
		}
		j.heldBy(c, top)
	}
}

// heldBy compares the holder of an awaited object, and the line of the acquisition. A thread that may release an object
// for its holder holds nothing.
func (j judge) heldBy(c picture.CycleStep, wanted Note) {
	h := j.all[c.HeldBy]
	if h == nil || c.MayRelease {
		return
	}
	i := slices.IndexFunc(h.Held[:max(0, h.Holds)], func(n Note) bool { return n.Object == wanted.Object })
	if i < 0 {
		j.out.find("wrong holder in a verdict", "LWP %d holds what LWP %d waits for (%v): %s; truth %v",
			c.HeldBy, c.Thread, wanted, c.HeldEvidence, h.Held[:h.Holds])
		return
	}
	if c.HeldAt == nil || shared(c.HeldAt.File) || c.HeldAt.Line == 0 || c.HeldAt.Near {
		return
	}
	lines := []string{fmt.Sprint(h.Held[i].Line)}
	for _, n := range h.Held[:h.Holds] {
		if n.Object == wanted.Object { // a nest lock may be taken several times
			lines = append(lines, fmt.Sprint(n.Line))
		}
	}
	if !slices.Contains(lines, fmt.Sprint(c.HeldAt.Line)) && !callThere(c) {
		j.out.find("wrong place in a verdict", "LWP %d took it at line %d, truth %v: %s",
			c.HeldBy, c.HeldAt.Line, lines, c.HeldEvidence)
	}
}

// takers matches the functions of programs that take a lock for their callers, in the text of evidence.
var takers = regexp.MustCompile(`(?:acquired it with |^)(begin_\d+)`)

// callThere reports whether a lock was acquired, according to the step, by a call of a function of the program,
// and that call is at the named line.
func callThere(c picture.CycleStep) bool {
	taker := takers.FindStringSubmatch(c.HeldEvidence)
	if taker == nil {
		return false
	}
	source, err := os.ReadFile(c.HeldAt.File)
	lines := strings.Split(string(source), "\n")
	return err == nil && c.HeldAt.Line <= len(lines) && strings.Contains(lines[c.HeldAt.Line-1], taker[1]+"(")
}

// leftBy matches the sentence of a verdict that names the code that left a lock: its function and line.
var leftBy = regexp.MustCompile(`without releasing (?:it|them)[^.]*?: (?:by (?:an exception(?: \(\S+\))? out of the call ` +
	`at |longjmp in )?)(\S+)(?:\([^)]*\))? \S+:\d+`)

// leavers are the functions of the mistakes that leave a lock. In any other program, such a cause is invented.
var leavers = map[Mistake]string{
	LeftOnPath: `leave_\d+`, LeftByCallee: `begin_\d+`, LeftByJump: `jump_\d+`, KeptByThread: `program_\d+`,
	NestedOnce: `program_\d+|team_\d+`,
}

// causes checks the sentences of a verdict that name a cause: the code that left a lock is that of the mistake, and
// only a program with an exception left a lock by one.
func (j judge) causes(v picture.Verdict) {
	text := strings.Join(append([]string{v.Summary, v.Explanation}, v.Evidence...), " ")
	m := leftBy.FindStringSubmatch(text)
	if m == nil {
		return
	}
	by, known := leavers[j.program.Mistake]
	if !known || !regexp.MustCompile(`(?:^|\W)(?:`+by+`)(?:\W|$)`).MatchString(m[1]) {
		j.out.find("invented cause", "%q is the mistake; said: %s", j.program.Mistake, text)
	}
	if thrown := strings.Contains(m[0], "exception"); thrown && j.program.Mistake != LeftOnPath {
		j.out.find("invented cause", "an exception, where %q is the mistake: %s", j.program.Mistake, text)
	}
}

// shared reports whether a file is one of those that all programs share, or of C++'s library.
func shared(file string) bool {
	own := []string{"gen.c", "gen.h", "async.cc"}
	return slices.Contains(own, filepath.Base(file)) || strings.Contains(file, "/c++/")
}

// innermost returns the line of the innermost frame of the program, or 0 if it is missing or unknown.
func innermost(frames []picture.Frame) int {
	for _, f := range frames {
		if f.Kind == picture.FrameUser && !shared(f.File) {
			if f.Near {
				return 0
			}
			return f.Line
		}
	}
	return 0
}

// locks checks that a verdict names a lock that one of its threads waits for, if they all wait for locks.
func (j judge) locks(v picture.Verdict) {
	var names []string
	for _, lwp := range v.Threads {
		s := j.all[lwp]
		if s == nil || !s.top().exclusive() {
			return
		}
		names = append(names, nameOf(s.top(), j.objects))
	}
	text := v.Summary + v.Explanation + strings.Join(v.Evidence, " ")
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, n) }) {
		j.out.find("no lock in a verdict", "%s: %s; %s: truth %q", v.Kind, v.Summary, v.Explanation, names)
	}
}

// nameOf returns a report's name of an object of the program.
func nameOf(n Note, objects map[string]array) string {
	if n.Kind == NoteCritical {
		return fmt.Sprintf("section_%d", n.Object-criticalBase)
	}
	for name, a := range objects {
		if n.Object >= a.Base && n.Object < a.Base+a.Size*a.Count {
			return fmt.Sprintf("%s[%d]", name, (n.Object-a.Base)/a.Size)
		}
	}
	return fmt.Sprintf("%#x", n.Object)
}

// TestHolderOfStep compares a step of a verdict with notes: a thread that holds the object, one that does not, and one
// that may release it for its holder.
func TestHolderOfStep(t *testing.T) {
	wanted := Note{Kind: NoteMutex, Line: 3, Object: 64}
	holder := &slot{Holds: 1}
	holder.Held[0] = wanted
	for _, tt := range []struct {
		step picture.CycleStep
		want int // findings
	}{
		{picture.CycleStep{Thread: 1, HeldBy: 2}, 0},
		{picture.CycleStep{Thread: 1, HeldBy: 3}, 1},
		{picture.CycleStep{Thread: 1, HeldBy: 3, MayRelease: true}, 0},
	} {
		var out Outcome
		judge{out: &out, all: Truth{1: &slot{}, 2: holder, 3: &slot{}}}.heldBy(tt.step, wanted)
		if len(out.Findings) != tt.want {
			t.Errorf("%+v: findings %v, want %d", tt.step, out.Findings, tt.want)
		}
	}
}
