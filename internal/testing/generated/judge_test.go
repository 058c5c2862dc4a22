package generated

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// judge compares one picture with the truth.
type judge struct {
	out     *Outcome
	program *Program
	core    bool // the picture is of a core
	pic     *picture.Picture
	still   Truth // of the threads that did not move during the look
	all     Truth
	// objects are the arrays of the program's objects.
	objects map[string]array
}

// array is an array of the program: its address, and the size and the number of its elements.
type array struct{ Base, Size, Count uint64 }

// arrays are those of gen.c.
var arrays = map[string]array{
	"gen_lock": {Size: 16, Count: 16}, "gen_nest": {Size: 32, Count: 4}, "gen_mutex": {Size: 40, Count: 6},
	"gen_cond": {Size: 48, Count: 3}, "gen_rwlock": {Size: 56, Count: 4}, "gen_semaphore": {Size: 32, Count: 4},
}

func (a array) withBase(base uint64) array { a.Base = base; return a }

func (j judge) thread(lwp int) *picture.Thread {
	i := slices.IndexFunc(j.pic.Threads, func(t picture.Thread) bool { return t.LWP == lwp })
	if i < 0 {
		return nil
	}
	return &j.pic.Threads[i]
}

// facts compares each thread with its notes. At rest, a thread with a noted wait does wait; during the run it may
// be entering or leaving the wait.
func (j judge) facts(rest bool) {
	for lwp, s := range j.still {
		t := j.thread(lwp)
		if t == nil {
			j.out.find("wrong thread", "LWP %d is not shown", lwp)
			continue
		}
		j.place(t, s)
		j.wait(t, s, rest)
	}
	j.holders()
}

// place compares the position of the thread in its team.
func (j judge) place(t *picture.Thread, s *slot) {
	top := s.top()
	if s.Depth == 0 || top.Kind == NoteRegionEnd {
		return // it may be leaving the team
	}
	if s.TeamSize == 0 {
		return // no runtime made the thread
	}
	for name, pair := range map[string]struct {
		got  *int
		want int32
	}{"thread number": {t.ThreadNum, s.ThreadNum}, "team size": {t.TeamSize, s.TeamSize}, "level": {t.Level, s.Level}} {
		if pair.got == nil || *pair.got != int(pair.want) {
			j.out.find("wrong place", "LWP %d: %s %s, truth %d (%v; %v)",
				t.LWP, name, shown(pair.got), pair.want, top, t.Errors)
		}
	}
}

func shown(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// kinds maps the tool's kinds of waits to those of notes.
var kinds = map[picture.WaitKind]int32{
	picture.WaitLock: NoteLock, picture.WaitNestLock: NoteNestLock, picture.WaitCritical: NoteCritical,
	picture.WaitMutex: NoteMutex, picture.WaitBarrier: NoteBarrier, picture.WaitTaskwait: NoteTaskwait,
	picture.WaitCondition: NoteCondition, picture.WaitOrdered: NoteOrdered,
	picture.WaitReadWrite: NoteReadWrite, picture.WaitSemaphore: NoteSemaphore, picture.WaitThreads: NoteThreads,
}

// wait compares the thread's wait.
func (j judge) wait(t *picture.Thread, s *slot, rest bool) {
	top := s.top()
	kind := t.WaitKind
	var wait *picture.Wait
	if j.pic.Facts != nil {
		if i := slices.IndexFunc(j.pic.Facts.Waits, func(w picture.Wait) bool { return w.Thread == t.LWP }); i >= 0 {
			wait = &j.pic.Facts.Waits[i]
			kind = wait.Kind
		}
	}
	said := kinds[kind]
	if top.Kind == NotePoll {
		return // the wait of a program's own loop is a matter of verdicts
	}
	if top.Kind == NoteNestLock && said == NoteLock {
		said = NoteNestLock // the lock's own data marks it as a nestable one
	}
	if kind.Exclusive() && (top.Kind != said || !j.names(wait, t, top)) && j.ours(kind, wait, t) {
		j.out.find("wrong wait", "LWP %d: waits for %s %s, truth %v", t.LWP, kind, waitName(wait, t), top)
		return
	}
	if rest && top.waits() && top.Kind != said {
		j.out.find("missed wait", "LWP %d: %q (%s), truth %v: %s", t.LWP, kind, state(t), top, frames(t))
	}
	if rest && top.waits() && top.Kind == said && !j.line(t, top.Line) {
		j.out.find("wrong line", "LWP %d: %s, truth line %d: %s", t.LWP, kind, top.Line, frames(t))
	}
}

// ours reports whether the object of a wait is one of those in notes.
func (j judge) ours(kind picture.WaitKind, w *picture.Wait, t *picture.Thread) bool {
	return kind != picture.WaitMutex // the condition variables' mutexes are not noted
}

// names reports whether the tool names the noted object.
func (j judge) names(w *picture.Wait, t *picture.Thread, n Note) bool {
	if n.Kind == NoteCritical {
		name := t.WaitName
		if w != nil && w.Name != "" {
			name = w.Name
		}
		return name == "" || strings.Contains(name, fmt.Sprintf("section_%d", n.Object-criticalBase))
	}
	if w == nil || w.Address == nil {
		return true
	}
	return uint64(*w.Address) == n.Object || w.Variable != nil && uint64(*w.Variable) == n.Object
}

func waitName(w *picture.Wait, t *picture.Thread) string {
	if w == nil {
		return t.WaitName
	}
	text := w.Name
	if w.Address != nil {
		text += fmt.Sprintf(" %#x", uint64(*w.Address))
	}
	return text
}

func state(t *picture.Thread) string {
	if t.State == nil {
		return "no state"
	}
	return string(t.State.Name) + ", " + t.State.Evidence
}

// line reports whether the innermost frame of the program is on a line, or near one that is unknown; gen.c is not
// part of the program.
func (j judge) line(t *picture.Thread, line int32) bool {
	for _, f := range t.UserStack {
		if f.Kind == picture.FrameUser && !shared(f.File) {
			// GCC gives the call that waits for the turn no line of its own: it has the previous one.
			before := t.WaitKind == picture.WaitOrdered && f.Line == int(line)-1
			return f.Near || f.Line == int(line) || before
		}
	}
	return false
}

func frames(t *picture.Thread) string {
	var all []string
	for _, f := range t.UserStack {
		all = append(all, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	return strings.Join(all, " < ")
}

// holders compares the holders of objects.
func (j judge) holders() {
	if j.pic.Facts == nil {
		return
	}
	for _, l := range j.pic.Facts.Locks {
		object, ok := j.object(l.ID)
		if !ok {
			continue
		}
		if l.Owner != 0 {
			j.holds(l.Owner, object, "owner of "+string(l.ID))
		}
		for _, h := range l.Holders {
			if h.Certainty == picture.Certain {
				j.holds(h.Thread, object, "holder of "+string(l.ID)+": "+h.Evidence)
			}
		}
	}
}

// object returns the noted address of a lock, from the note of a thread that waits for it.
func (j judge) object(id picture.ID) (uint64, bool) {
	for _, w := range j.pic.Facts.Waits {
		if s := j.still[w.Thread]; w.Lock == id && s != nil && s.top().exclusive() {
			return s.top().Object, true
		}
	}
	return 0, false
}

func (j judge) holds(lwp int, object uint64, how string) {
	s := j.still[lwp]
	if s == nil || s.holds(object) || s.top().Object == object {
		return
	}
	j.out.find("wrong holder", "LWP %d is %s, truth: holds %v, %v", lwp, how, s.Held[:s.Holds], s.top())
}

// verdictsAmid looks for verdicts of a hang on a program that makes progress.
func (j judge) verdictsAmid(r *run) {
	for _, v := range j.pic.Verdicts {
		crash := v.Severity == picture.SeverityCrash && !r.killed
		if !diagnose.Hangs(v) && v.Severity != picture.SeverityHang && !crash {
			continue
		}
		if r.program.Mistake == Healthy {
			j.out.find("false hang", "%s (%s): %s\n%s", v.Kind, v.Certainty, v.Summary, j.describe())
			continue
		}
		// A part of the program may hang while another continues: the hung threads never move again.
		for _, lwp := range v.Threads {
			if now := j.all[lwp]; now != nil {
				said := fmt.Sprintf("%s (%s): %s\n%s", v.Kind, v.Certainty, v.Summary, j.describe())
				r.hanging = append(r.hanging, suspect{lwp, *now, said})
			}
		}
	}
}

// explained compares the verdicts of a program that hangs.
func (j judge) explained() {
	root := j.root()
	var said []string
	for _, v := range j.pic.Verdicts {
		if v.Severity == picture.SeverityHang || diagnose.Hangs(v) {
			j.out.Kinds = append(j.out.Kinds, v.Kind)
			said = append(said, fmt.Sprintf("%s (%s): %s %v", v.Kind, v.Certainty, v.Summary, v.Threads))
			named := v.Threads
			if strings.Contains(v.Explanation, " Or the cause is ") {
				named = append(named, v.Waiting...)
			}
			if slices.ContainsFunc(named, func(lwp int) bool { return slices.Contains(root, lwp) }) {
				j.steps(v)
				j.locks(v)
				j.causes(v)
				return
			}
		}
	}
	if len(said) == 0 && j.byHandler(root) {
		j.out.Handlers = true
		return
	}
	if len(said) == 0 {
		j.out.find("hang unexplained", "root %v\n%s", root, j.describe())
		return
	}
	j.out.find("hang explained wrongly", "root %v, said %s\n%s", root, strings.Join(said, "; "), j.describe())
}

// byHandler reports whether a wait of the root could end by a signal's handler, which may set a flag or post a
// semaphore: the wait itself, or that of another thread, whose code may then release the lock that the root waits for.
// If the program has set a handler, or if that is unknown, as in a core, the tool rightly says that it does not know.
func (j judge) byHandler(root []int) bool {
	posted := slices.ContainsFunc(root, j.polls)
	if slices.ContainsFunc(root, func(lwp int) bool { return j.all[lwp].top().exclusive() }) {
		posted = slices.ContainsFunc(slices.Collect(maps.Keys(j.all)), j.polls)
	}
	return posted && (j.core || j.program.hasKind(Interrupt))
}

// polls reports whether a thread waits for a flag or a semaphore.
func (j judge) polls(lwp int) bool {
	kind := j.all[lwp].top().Kind
	return kind == NotePoll || kind == NoteSemaphore
}

// root returns the threads that no progress of another could release: those on cycles of waits, and those that
// wait for an object without a holder, or for a missing signal.
func (j judge) root() []int {
	waits := map[int][]int{}
	for lwp, s := range j.all {
		top := s.top()
		switch {
		case top.exclusive(), j.isHeld(top.Object):
			for other, o := range j.all {
				if o.holds(top.Object) {
					waits[lwp] = append(waits[lwp], other)
				}
			}
		case slices.Contains([]int32{
			NoteBarrier, NoteRegionEnd, NoteConstruct, NoteTaskwait, NoteOrdered, NoteCondition, NoteSemaphore,
			NotePoll, NoteThreads,
		}, top.Kind):
			for other, o := range j.all {
				if other != lwp && o.top() != top && o.Depth > 0 {
					waits[lwp] = append(waits[lwp], other)
				}
			}
		}
	}
	reach := func(from int) map[int]bool {
		seen := map[int]bool{}
		todo := slices.Clone(waits[from])
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			if !seen[next] {
				seen[next] = true
				todo = append(todo, waits[next]...)
			}
		}
		return seen
	}
	var root []int
	for lwp, s := range j.all {
		if len(waits[lwp]) == 0 && s.top().waits() || reach(lwp)[lwp] {
			root = append(root, lwp)
		}
	}
	slices.Sort(root)
	return root
}

// isHeld reports whether a thread has noted that it holds an object.
func (j judge) isHeld(object uint64) bool {
	for _, s := range j.all {
		if object != 0 && s.holds(object) {
			return true
		}
	}
	return false
}

// describe formats the truth as text.
func (j judge) describe() string {
	var lines []string
	for lwp, s := range j.all {
		lines = append(lines, fmt.Sprintf("  LWP %d thread %d/%d level %d: notes %v, holds %v",
			lwp, s.ThreadNum, s.TeamSize, s.Level, s.Notes[:s.Depth], s.Held[:s.Holds]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
