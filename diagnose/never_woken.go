package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// awaitsSignal reports whether a thread waits without a limit for an action of another thread that is recorded nowhere:
// a signal, a post, a wake-up.
func awaitsSignal(w *picture.Wait) bool {
	switch row := w.Kind.Traits(); {
	case row.WakeFix != "":
		return w.Asleep
	default:
		return isLoop(w.Kind)
	}
}

// sleepers are the threads that wait for a signal of another thread.
type sleepers struct {
	*dependencies
	nodes  []node
	behind map[node]bool // the threads and tasks that cannot proceed if no sleeper does, with the sleepers
	// known is not set if a task that is about to be executed could wake a sleeper, or if some code is unknown.
	known bool
}

// findSleepers returns the sleepers of a picture.
func findSleepers(d *dependencies) *sleepers {
	s := &sleepers{dependencies: d}
	if d.facts.TasksTruncated || !d.facts.StacksComplete {
		return s
	}
	for _, lwp := range d.order {
		if awaitsSignal(d.waits[lwp]) && !endsByItself(d, d.waits[lwp]) {
			s.nodes = append(s.nodes, node{lwp: lwp})
		}
	}
	if len(s.nodes) == 0 {
		return s
	}
	s.behind = d.stuckWithout(s.nodes...)
	s.known = !slices.ContainsFunc(d.pic.Tasks, func(t picture.Task) bool {
		return t.Pending() && !s.behind[node{task: t.ID}]
	})
	return s
}

// endsByItself reports whether the wait of a thread may end, or the thread may help others, although no thread of the
// process is at work: the handler of a signal may wake it, or another process may write the memory that its loop reads,
// or the loop writes memory itself.
func endsByItself(d *dependencies, w *picture.Wait) bool {
	switch l := d.locks[w.Thread]; w.Kind {
	case picture.WaitFlag:
		return l == nil || l.MayRelease == nil || l.MayRelease.Incomplete
	case picture.WaitSemaphore:
		return l != nil && l.MayRelease != nil && l.MayRelease.Incomplete
	case picture.WaitCondition:
		return d.facts.Wakers != nil && d.facts.Wakers.Incomplete
	case picture.WaitFutex:
		return d.facts.Handled && mayHandlerWake(d.frames(w.Thread))
	}
	return false
}

// findNeverWoken finds threads of parallel regions that sleep until another thread wakes them, where all threads that
// may do so sleep in the same way or cannot proceed before one that does.
func findNeverWoken(d *dependencies, c *covered) []picture.Verdict {
	s := findSleepers(d)
	if !s.known {
		return nil
	}
	explained := c.withDependents(d.waitGraph)
	var out []picture.Verdict
	var stuck []int
	seen := map[waitKey]bool{}
	for _, n := range s.nodes {
		w := d.waits[n.lwp]
		if isLoop(w.Kind) || seen[keyOf(w)] || explained[n] || !s.isNeverWoken(w) {
			continue
		}
		seen[keyOf(w)] = true
		lwps := slices.DeleteFunc(slices.Clone(d.waitersFor(w)),
			func(lwp int) bool { return !awaitsSignal(d.waits[lwp]) })
		if !slices.ContainsFunc(lwps, d.holdsUpRegion) {
			continue
		}
		stuck = append(stuck, lwps...)
		out = append(out, explainNeverWoken(d, w, lwps))
	}
	d.markStuck(picture.Likely, stuck)
	for i := range out {
		d.addBlocked(&out[i])
		explainUnheld(d.index, &out[i])
	}
	return out
}

// isNeverWoken reports whether all threads that may wake a sleeper cannot proceed without the sleepers, and neither can
// any thread of OpenMP: the code of those does not show all that they may do.
func (s *sleepers) isNeverWoken(w *picture.Wait) bool {
	d := s.dependencies
	cannot := func(lwp int) bool { return s.behind[node{lwp: lwp}] }
	atWork := func(t picture.Thread) bool {
		return t.LWP != 0 && t.Role != picture.RoleIdle && !t.Hidden && !cannot(t.LWP)
	}
	ofTeam := func(t picture.Thread) bool { return t.Role != picture.RoleNone && atWork(t) }
	if slices.ContainsFunc(d.pic.Threads, ofTeam) {
		return false
	}
	c := d.facts.Wakers
	row := w.Kind.Traits()
	switch {
	case w.Kind == picture.WaitSemaphore:
		c = nil
		if l := d.locks[w.Thread]; l != nil {
			c = l.MayRelease
		}
	case w.Kind == picture.WaitFlag && endsByItself(d, w): // the handler of a signal may write it
		return false
	case w.Kind == picture.WaitFlag, row.WakeFix != "" && row.WakeCall == "": // any code may end it
		return !slices.ContainsFunc(d.pic.Threads, atWork)
	}
	executed := func(id picture.ID) bool { return !s.behind[node{task: id}] }
	return c != nil && !c.Incomplete && !slices.ContainsFunc(c.Tasks, executed) &&
		!slices.ContainsFunc(c.Threads, func(lwp int) bool { return !cannot(lwp) })
}

// explainNeverWoken returns the verdict on threads that wait for the same object.
func explainNeverWoken(d *dependencies, w *picture.Wait, lwps []int) picture.Verdict {
	row := w.Kind.Traits()
	what, call, fix := phrase.Awaited(d.waitTarget(w)), row.WakeCall, row.WakeFix
	if s := sleepingClassOf(d.frames(w.Thread)); s != nil && awaitsLibrary(w) {
		fix = s.fix
		if isOfLibrary(d.waitTarget(w).Name) { // other objects use the same word
			what = s.name
		} else {
			what = s.name + " (" + what + ")"
		}
	}
	v := newVerdict(picture.VerdictNeverWoken, picture.Likely)
	v.Threads, v.Fix = lwps, fix
	v.Summary = fmt.Sprintf("%s for %s, and no thread is left that could wake %s", d.threadsWait(lwps), what,
		pronoun(len(lwps)))
	who := "thread of the process"
	if call != "" {
		who = "thread whose code may still reach " + call
	}
	sleep := "They sleep"
	if len(lwps) == 1 {
		sleep = "It sleeps"
	}
	repeated := w.Kind == picture.WaitFutex && w.Evidence != ""
	if repeated {
		sleep = strings.Replace(sleep, "sleep", "wait", 1)
	}
	v.Explanation = fmt.Sprintf("%s without a time limit. Every other %s sleeps in the same way, or waits for one "+
		"that does.", sleep, who)
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		if f, ok := innermost(d.frames(lwp)); ok {
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s sleeps in a futex call, in %s", d.threadName(lwp),
				place(f)))
		}
	}
	if len(lwps) == 1 {
		explainHandler(d.index, &v, w, what)
	}
	if w.Kind == picture.WaitThreads || repeated {
		v.Evidence = append(v.Evidence, w.Evidence)
	}
	others := otherWakers(d, w, lwps)
	switch {
	case call == "":
		v.Evidence = append(v.Evidence, "all threads of the process sleep")
	case len(others) == 0:
		v.Evidence = append(v.Evidence, "no other thread's code may reach "+call)
	default:
		v.Evidence = append(v.Evidence, fmt.Sprintf("the code of %s may reach %s, but cannot before: %s",
			threadCount(len(others)), call, d.waitsText(others, " waits for ")))
	}
	explainDiscardedTasks(d.index, &v, "ends the wait")
	if call == "" || w.Kind == picture.WaitSemaphore {
		explainQueuedTasks(d.index, &v, "ends the wait")
		explainDependentTasks(d.index, &v, "ends the wait")
		explainSections(d.index, &v, "ends the wait")
	}
	return v
}

// otherWakers returns the threads that may end the wait w, by their code, without some threads.
func otherWakers(d *dependencies, w *picture.Wait, lwps []int) []int {
	c := d.facts.Wakers
	if w.Kind == picture.WaitSemaphore {
		c = d.locks[w.Thread].MayRelease
	}
	if c == nil {
		return nil // any code may end it
	}
	return slices.DeleteFunc(slices.Clone(c.Threads), func(lwp int) bool { return slices.Contains(lwps, lwp) })
}

// mayHandlerWake reports whether the handler of a signal may wake a thread that sleeps on a word, by its frames: it may
// change and notify atomic variables, but must not come to a barrier or set a promise.
func mayHandlerWake(fs []picture.Frame) bool {
	s := sleepingClassOf(fs)
	return s == nil || !s.unsafe
}

// awaitsLibrary reports whether a thread waits for memory that the C++ library may wait for in its own classes.
func awaitsLibrary(w *picture.Wait) bool {
	return w.Kind == picture.WaitFutex || w.Kind == picture.WaitCondition
}

// isOfLibrary reports whether a variable is the C++ library's own.
func isOfLibrary(name string) bool {
	return strings.HasPrefix(name, "__") || strings.HasPrefix(name, "std::")
}

// sleepingClass is a class of C++'s standard library with member functions that sleep on a word of memory.
type sleepingClass struct {
	header   string   // its header; "" if the header contains other classes, too
	prefixes []string // of the names of its member functions
	name     string
	fix      string
	unsafe   bool // a handler of a signal must not use it
}

// sleepingClasses are the classes of GNU's and LLVM's libraries.
var sleepingClasses = [...]sleepingClass{
	{
		"latch", []string{"std::latch::", "std::__1::latch::"}, "a std::latch",
		"count the latch down as often as it was initialized for: a team may have fewer threads than were requested",
		false,
	},
	{
		"barrier", []string{"std::barrier<", "std::__1::barrier<"}, "a std::barrier",
		"initialize the barrier for as many threads as come to it: a team may have fewer than were requested, " +
			"and every one of them must reach it, or leave it by arrive_and_drop", true,
	},
	{
		"semaphore", []string{"std::counting_semaphore<", "std::__1::counting_semaphore<"}, "a std::counting_semaphore",
		"release the semaphore once for each time that it is acquired, on every path", false,
	},
	{
		"", []string{
			"std::future<", "std::shared_future<", "std::__basic_future<", "std::__future_base::",
			"std::__1::future<", "std::__1::shared_future<",
		}, "a std::future",
		"give each promise a value or an exception (set_value, set_exception) on every path, before its thread waits " +
			"for another one", true,
	},
	{
		"", []string{
			"std::atomic<", "std::atomic_flag::", "std::__atomic_base<", "std::atomic_ref<", "std::__1::atomic<",
		}, "a std::atomic",
		"store the value before notify_one or notify_all, and notify all who wait", false,
	},
}

// matches reports whether a function is a member of the class with a prefix, or, if the class has a header of its own,
// a template of the library for it: optimized code may have no frame of the class.
func (s *sleepingClass) matches(function, prefix string) bool {
	return strings.HasPrefix(function, prefix) || s.header != "" && strings.Contains(function, "<"+prefix)
}

// sleepingClassOf returns the class with the member function that the program's code called to sleep, nil if the
// frames show no such class.
func sleepingClassOf(fs []picture.Frame) *sleepingClass {
	for _, f := range slices.Backward(fs[:max(picture.InnermostUser(fs), 0)]) {
		for i, s := range sleepingClasses {
			in := s.header != "" && filepath.Base(f.File) == s.header && strings.Contains(f.File, "/c++/")
			if in || slices.ContainsFunc(s.prefixes, func(p string) bool { return s.matches(f.Function, p) }) {
				return &sleepingClasses[i]
			}
		}
	}
	return nil
}
