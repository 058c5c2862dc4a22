package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxWaits bounds the different objects of waits in one line.
const maxWaits = 4

// NoVerdict returns the known facts of a picture without a verdict, and the next command: a program without a verdict
// need not be healthy.
func NoVerdict(pic *picture.Picture) string {
	if slices.Contains(pic.Incomplete, "verdicts") {
		return "not known whether it hangs: a limit of time or memory was reached before a verdict could be drawn " +
			"(see the warning)"
	}
	t := &pic.Target
	if t.Pause != nil && t.Pause.Suspended {
		return phrase.Suspended(t.PID)
	}
	if list := t.Hung; len(list) > 0 {
		return hungChildren(list)
	}
	if name := launcher(pic); name != "" {
		return fmt.Sprintf("no verdict on %s itself; next: `ompd-inspect job --mpirun %d`", name, t.PID)
	}
	waits, awake, busy := waitsOf(pic)
	sleep := sleepingThreads(pic.Threads)
	known := ""
	switch unread := countUnread(pic.Threads); {
	case unread > 0:
		known = fmt.Sprintf("not known whether it hangs: what %s could not be read", threadsDo(unread))
	case len(waits)+busy+len(sleep) == 0:
		known = "no verdict: no cause of a hang was found"
	case len(sleep) > 0:
		known = someSleep(sleep, busy-len(awake), append(waits, awake...))
	case busy == len(awake) && busy > 0:
		known = fmt.Sprintf("not known whether it hangs: no thread was seen at work: %s",
			waitList(append(waits, awake...)))
	case busy == 0:
		known = fmt.Sprintf("not known whether it hangs: %s: %s", allThreadsWait(len(waits)), waitList(waits))
	case len(waits)+len(awake) == 0:
		known = fmt.Sprintf("no sign of a hang: %s at work", allThreadsAre(busy))
	default:
		known = fmt.Sprintf("%s: %s at work; the others wait: %s", healthText(pic.Threads),
			someAre(busy-len(awake), len(waits)+busy), waitList(append(waits, awake...)))
	}
	if n := countQueued(pic.Tasks); n > 0 && len(waits) > 0 {
		known += fmt.Sprintf("; %s queued", tasksAre(n))
	}
	switch {
	case t.Pause != nil && t.Pause.Standstill != nil && busy > 0:
		known = "no verdict: nothing shows why it makes no progress"
	case t.Signal != "":
		if busy != 0 || len(waits) == 0 {
			known = "no verdict: nothing shows why " + t.Signal + " came"
		}
	case t.Pause != nil && isRunning(*t.Pause):
		known += fmt.Sprintf("; next: `ompd-inspect watch %d` shows whether it makes progress", t.PID)
	case len(waits) > 0 && busy == len(awake) && t.Kind == picture.TargetCore:
		known += "; a core is one moment: `ompd-inspect watch PID` of the running program shows whether it makes " +
			"progress"
	}
	return known
}

// hungChildren returns the conclusion on a process that waits for child processes which hang.
func hungChildren(list []picture.Child) string {
	c := list[0]
	more := ""
	if n := len(list) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("it waits for its child process %d (%s)%s, which hangs: %s  %s; next: `ompd-inspect %d`",
		c.PID, c.Name, more, diagnose.Heading(&c.Verdict), c.Verdict.Summary, c.PID)
}

// countQueued counts the explicit tasks that no thread has begun and that depend on no other task.
func countQueued(tasks []picture.Task) (n int) {
	for _, t := range tasks {
		if t.State == picture.TaskQueued {
			n++
		}
	}
	return n
}

func tasksAre(n int) string {
	if n == 1 {
		return "1 task is"
	}
	return fmt.Sprintf("%d tasks are", n)
}

// launcher returns the name of the program if it is a process that starts the ranks of an MPI
// job and has no OpenMP runtime, such as mpirun; "" otherwise.
func launcher(pic *picture.Picture) string {
	t := &pic.Target
	if t.Kind != picture.TargetProcess || len(pic.Runtimes) > 0 {
		return ""
	}
	return mpi.Launcher(t.Executable, strings.Fields(t.Command))
}

func allThreadsWait(n int) string {
	if n == 1 {
		return "its one thread waits"
	}
	return fmt.Sprintf("all %d threads wait", n)
}

func allThreadsAre(n int) string {
	if n == 1 {
		return "its one thread is"
	}
	return fmt.Sprintf("all %d threads are", n)
}

func someAre(n, all int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %d threads is", all)
	}
	return fmt.Sprintf("%d of %d threads are", n, all)
}

// libraryWaits are functions of the C library that return when another thread wakes the caller, or after a time limit.
var libraryWaits = []string{
	"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
	"sem_wait", "sem_timedwait", "sem_clockwait",
}

// awakeIn returns the function of the C library in which a thread is awake instead of waiting, as its time limit has
// just passed or another thread has woken it; "" for all other threads.
func awakeIn(t picture.Thread) string {
	stack := t.UserStack
	if len(stack) == 0 {
		stack = t.Stack
	}
	for _, f := range stack {
		name, _, _ := strings.Cut(f.Function, "@")
		if f.Kind != picture.FrameSystem {
			break
		}
		if slices.Contains(libraryWaits, name) {
			return name
		}
	}
	return ""
}

// waitsOf lists the waits of OpenMP's threads, one entry for each thread, and counts the threads that do not wait.
// awake lists those of the latter that are in a function of libraryWaits. Idle threads, sleeping threads, and helpers
// that execute no task of the program do not count.
func waitsOf(pic *picture.Picture) (waits, awake []string, busy int) {
	limited := map[int]bool{}
	if pic.Facts != nil {
		for _, w := range pic.Facts.Waits {
			limited[w.Thread] = w.Timed
		}
	}
	for _, t := range pic.Threads {
		if t.Runtime == "" || t.State == nil || t.StateUnknown() || t.State.Name == picture.StateIdle ||
			t.Role == picture.RoleIdle || t.Hidden && !isAtWork(t) {
			continue
		}
		if t.State.Name == picture.StateSleep {
			continue
		}
		if !strings.HasPrefix(string(t.State.Name), "wait_") {
			if busy++; awakeIn(t) != "" {
				awake = append(awake, "awake in "+awakeIn(t))
			}
			continue
		}
		text := waitPhrase(t)
		if limited[t.LWP] {
			text += " until a time limit"
		}
		waits = append(waits, text)
	}
	return waits, awake, busy
}

// isAtWork reports whether a thread executes the program's code.
func isAtWork(t picture.Thread) bool {
	return t.State.Name == picture.StateWorkParallel || t.State.Name == picture.StateWorkSerial
}

// countUnread counts such threads.
func countUnread(ts []picture.Thread) (n int) {
	for _, t := range ts {
		if t.StateUnknown() {
			n++
		}
	}
	return n
}

func threadsDo(n int) string {
	if n == 1 {
		return "1 thread does"
	}
	return fmt.Sprintf("%d threads do", n)
}

// waitPhrase returns the wait of a thread after the verb: "for lock table", "at a barrier".
func waitPhrase(t picture.Thread) string {
	what := strings.TrimPrefix(string(t.State.Name), "wait_")
	switch {
	case strings.HasPrefix(what, "barrier"):
		return "at a barrier"
	case what == "taskwait" || what == "taskgroup": // each has its own, and the address identifies nothing
		if t.WaitName != "" {
			return "in a " + what + " for " + t.WaitName
		}
		return "in a " + what
	case t.WaitID != nil || t.WaitName != "":
		return "for " + phrase.Target(picture.WaitTarget{Kind: cmp.Or(t.WaitKind, picture.WaitKind(what)),
			Name: t.WaitName, Address: unnamedAddress(t)})
	case t.State.Name == picture.StateMutex: // it is in the queue of a lock
		return "for a lock or critical section"
	}
	return "for " + strings.ReplaceAll(what, "_", " ")
}

// unnamedWait is waitPhrase without the name and the address of the object: "for a lock".
func unnamedWait(t picture.Thread) string {
	what := strings.TrimPrefix(string(t.State.Name), "wait_")
	if t.WaitKind == "" && t.WaitID == nil || strings.HasPrefix(what, "barrier") || what == "taskwait" ||
		what == "taskgroup" {
		return waitPhrase(t)
	}
	return "for " + phrase.Awaited(picture.WaitTarget{Kind: cmp.Or(t.WaitKind, picture.WaitKind(what))})
}

// unnamedAddress returns the address of the object that t waits for, nil if that has a name.
func unnamedAddress(t picture.Thread) *picture.Hex {
	if t.WaitName != "" {
		return nil
	}
	return t.WaitID
}

// waitList counts the objects of waits, those with most threads first.
func waitList(waits []string) string {
	n := map[string]int{}
	var order []string
	for _, w := range waits {
		if n[w]++; n[w] == 1 {
			order = append(order, w)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	if len(order) == 1 {
		return order[0]
	}
	var parts []string
	for i, w := range order {
		if i == maxWaits {
			parts = append(parts, fmt.Sprintf("%d more for other things", len(waits)))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", n[w], w))
		waits = waits[n[w]:]
	}
	return strings.Join(parts, ", ")
}

// sleepingThreads lists the threads of OpenMP that only wait for time to pass.
func sleepingThreads(ts []picture.Thread) (out []picture.Thread) {
	for _, t := range ts {
		if t.Runtime != "" && t.State != nil && t.State.Name == picture.StateSleep && !t.Hidden {
			out = append(out, t)
		}
	}
	return out
}

// healthText returns the conclusion if some threads are at work: "no sign of a hang", or less if a thread
// waits for a lock.
func healthText(ts []picture.Thread) string {
	if slices.ContainsFunc(ts, waitsForHolder) {
		return "no deadlock was found"
	}
	return "no sign of a hang"
}

// waitsForHolder reports whether a thread waits for an object that another one holds.
func waitsForHolder(t picture.Thread) bool {
	return t.State != nil && t.State.Name.Waits() && (t.WaitKind.Exclusive() || t.State.Name == picture.StateMutex)
}

// someSleep returns the conclusion on a program with sleeping threads. Time ends a sleep, so that such a program is
// healthy, unless other threads wait for a sleeping one.
func someSleep(sleep []picture.Thread, busy int, waits []string) string {
	all := len(sleep) + busy + len(waits)
	how := sleepList(sleep)
	switch {
	case len(waits) > 0 && busy > 0:
		return fmt.Sprintf("no deadlock was found: %s at work, %s %s; the others wait: %s", someAre(busy, all),
			fewSleep(len(sleep)), how, waitList(waits))
	case len(waits) > 0:
		return fmt.Sprintf("no deadlock was found: %d of %s %s; the others wait: %s", len(sleep),
			phrase.Count(all, "thread"), sleepVerb(len(sleep))+" "+how, waitList(waits))
	case busy > 0:
		return fmt.Sprintf("no sign of a hang: %s at work, %s %s", someAre(busy, all), fewSleep(len(sleep)), how)
	case all == 1:
		return "no sign of a hang: its one thread sleeps " + how
	}
	return fmt.Sprintf("no sign of a hang: all %d threads sleep %s", all, how)
}

func sleepVerb(n int) string {
	if n == 1 {
		return "sleeps"
	}
	return "sleep"
}

func fewSleep(n int) string { return fmt.Sprintf("%d %s", n, sleepVerb(n)) }

// sleepList returns the calls in which threads sleep, with the time that is left if there is one thread.
func sleepList(ts []picture.Thread) string {
	if len(ts) == 1 {
		return "(" + phrase.Sleeping(cmp.Or(ts[0].WaitName, "sleep"), ts[0].Sleep) + ")"
	}
	var names []string
	for _, t := range ts {
		if name := cmp.Or(t.WaitName, "sleep"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "(" + phrase.Some(names, maxWaits, len(names)) + ")"
}
