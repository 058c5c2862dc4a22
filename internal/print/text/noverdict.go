package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxWaits is how many different things that threads wait for are named in one line.
const maxWaits = 4

// NoVerdict says what is known if no verdict was drawn, and the next command: nothing is
// found is not the same as all is well.
func NoVerdict(pic *picture.Picture) string {
	if slices.Contains(pic.Incomplete, "verdicts") {
		return "not known whether it hangs: the time was spent before a verdict could be drawn (see the warning)"
	}
	t := &pic.Target
	if name := launcher(pic); name != "" {
		return fmt.Sprintf("no verdict on %s itself; next: `ompd-inspect job --mpirun %d`", name, t.PID)
	}
	waits, awake, busy := waiting(pic.Threads)
	sleep := sleeping(pic.Threads)
	known := ""
	switch unread := unreadable(pic.Threads); {
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
		known = fmt.Sprintf("not known whether it hangs: %s: %s", allWait(len(waits)), waitList(waits))
	case len(waits)+len(awake) == 0:
		known = fmt.Sprintf("no sign of a hang: %s at work", allBusy(busy))
	default:
		known = fmt.Sprintf("%s: %s at work; the others wait: %s", unsuspicious(pic.Threads),
			someAre(busy-len(awake), len(waits)+busy), waitList(append(waits, awake...)))
	}
	switch {
	case t.Pause != nil && t.Pause.Standstill != nil && busy > 0:
		known = "no verdict: nothing shows why it makes no progress"
	case t.Signal != "":
		if busy != 0 || len(waits) == 0 {
			known = "no verdict: nothing shows why " + t.Signal + " came"
		}
	case t.Pause != nil && runs(*t.Pause):
		known += fmt.Sprintf("; next: `ompd-inspect watch %d` shows whether it makes progress", t.PID)
	case len(waits) > 0 && busy == len(awake) && t.Kind == picture.TargetCore:
		known += "; a core is one moment: `ompd-inspect watch PID` of the running program shows whether it makes " +
			"progress"
	}
	return known
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

func allWait(n int) string {
	if n == 1 {
		return "its one thread waits"
	}
	return fmt.Sprintf("all %d threads wait", n)
}

func allBusy(n int) string {
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

// libraryWaits are functions of the C library that return when somebody wakes the thread, or when
// their time limit is over.
var libraryWaits = []string{
	"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
	"sem_wait", "sem_timedwait", "sem_clockwait",
}

// awakeIn is the function of the C library in which a thread was to wait, but was awake: its time
// limit is just over, or somebody has woken it; which, is not seen. It is empty for all others.
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

// waiting lists what the threads of OpenMP wait for, one entry a thread, and counts those
// that do not wait; some of these, which awake lists, are in a function that waits all the same.
// Idle threads, helpers and those that sleep are neither.
func waiting(ts []picture.Thread) (waits, awake []string, busy int) {
	for _, t := range ts {
		if t.Runtime == "" || t.State == nil || unread(t) || t.State.Name == picture.StateIdle ||
			t.Role == picture.RoleIdle || t.Hidden {
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
		waits = append(waits, waitPhrase(t))
	}
	return waits, awake, busy
}

// unread reports whether what a thread does could not be read.
func unread(t picture.Thread) bool {
	return t.Role == picture.RoleUnknown || t.Runtime != "" && t.State != nil && t.State.Name == picture.StateUndefined
}

// unreadable counts such threads.
func unreadable(ts []picture.Thread) (n int) {
	for _, t := range ts {
		if unread(t) {
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

// waitPhrase says what a thread waits for: "for lock table", "at a barrier".
func waitPhrase(t picture.Thread) string {
	what := strings.TrimPrefix(string(t.State.Name), "wait_")
	switch {
	case strings.HasPrefix(what, "barrier"):
		return "at a barrier"
	case what == "taskwait" || what == "taskgroup": // each has its own, of which the address tells nothing
		return "in a " + what
	case t.WaitID != nil || t.WaitName != "":
		return "for " + phrase.Target(picture.WaitTarget{Kind: cmp.Or(t.WaitKind, picture.WaitKind(what)),
			Name: t.WaitName, Address: unnamed(t)})
	case t.State.Name == picture.StateMutex: // it is in the queue of one
		return "for a lock or critical section"
	}
	return "for " + strings.ReplaceAll(what, "_", " ")
}

// unnamed is the address of what t waits for, if it has no name.
func unnamed(t picture.Thread) *picture.Hex {
	if t.WaitName != "" {
		return nil
	}
	return t.WaitID
}

// waitList counts what is waited for, most threads first.
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
