package phrase

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// WaitsOn names the object that a thread waits for, for a table.
func WaitsOn(t picture.Thread) string {
	s := string(t.WaitKind)
	switch {
	case t.WaitKind == picture.WaitCall:
		return "system call " + t.WaitName
	case t.WaitKind.OfTarget():
		return Awaited(picture.WaitTarget{Kind: t.WaitKind, Name: t.WaitName})
	case t.WaitKind == picture.WaitMPI, t.WaitKind == picture.WaitJoin, t.WaitKind == picture.WaitSleep,
		t.WaitKind == picture.WaitPause:
		return t.WaitName
	case t.WaitID == nil:
		return ""
	case t.WaitName != "":
		return strings.TrimSpace(s+" "+t.WaitName) + heldBy(t)
	case t.WaitOn != 0:
		return strings.TrimSpace(s+" "+t.WaitID.String()) + heldBy(t)
	}
	return strings.TrimSpace(s + " " + t.WaitID.String())
}

// heldBy names the holder of the object that a thread waits for, if the object names it.
func heldBy(t picture.Thread) string {
	if t.WaitOn == 0 {
		return ""
	}
	return fmt.Sprintf(", held by LWP %d", t.WaitOn)
}

// Awaited names the object of a wait in a sentence: "lock journal", "critical section ledger", "the word at 0x7f…".
func Awaited(t picture.WaitTarget) string {
	if t.Kind == picture.WaitOrdered && strings.HasPrefix(t.Name, "iteration ") {
		return t.Name + " of a loop with dependences"
	}
	row, name := t.Kind.Traits(), t.Name
	if name == "" && t.Address != nil && !row.NameOnly {
		name = "at " + t.Address.String()
		if t.Kind == picture.WaitFlag {
			name = "the word " + name
		}
	}
	switch {
	case !strings.Contains(row.Phrase, "%s"):
		return row.Phrase
	case name == "":
		return row.Unnamed
	}
	return strings.ReplaceAll(row.Phrase, "%s", name)
}

// Target is Awaited, with the address of an object that has a name.
func Target(t picture.WaitTarget) string {
	s := Awaited(t)
	if t.Address == nil || t.Kind.Traits().NameOnly || strings.Contains(s, "at "+t.Address.String()) {
		return s
	}
	return s + " (" + t.Address.String() + ")"
}

// maxHeld bounds the names of the locks that one thread holds.
const maxHeld = 2

// HeldText names the locks that a thread holds and others wait for: "lock table", "critical halo, mutex m and 2 more".
func HeldText(list []picture.WaitTarget) string {
	var names []string
	seen := map[string]bool{} // threads of different runtimes wait for one lock
	for _, t := range list {
		if key := Target(t); seen[key] {
			continue
		} else if t.Address != nil {
			seen[key] = true
		}
		name := t.Name
		if name == "" && t.Address != nil {
			name = t.Address.String()
		}
		kind := t.Kind
		if kind == picture.WaitNestLock { // as the threads that wait for it name it
			kind = picture.WaitLock
		}
		names = append(names, strings.TrimSpace(string(kind)+" "+name))
	}
	return Some(names, maxHeld, len(names))
}

// duration formats a time in seconds: "12 ms", "999.8 s", "17 min", "2.5 h", "3 days".
func duration(seconds float64) string {
	const minute, hour, day = 60, 3600, 24 * 3600
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 20*minute:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 2*hour:
		return fmt.Sprintf("%.0f min", seconds/minute)
	case seconds < 2*day:
		return fmt.Sprintf("%.1f h", seconds/hour)
	}
	return fmt.Sprintf("%.0f days", seconds/day)
}

// Times returns the time since the start of a process and its CPU time, in seconds: "started 17 min ago, 2.5 h of CPU
// time". Times of 0 are unknown.
func Times(elapsed, cpu float64) string {
	var parts []string
	if elapsed > 0 {
		parts = append(parts, "started "+duration(elapsed)+" ago")
	}
	if cpu > 0 {
		parts = append(parts, duration(cpu)+" of CPU time")
	}
	return strings.Join(parts, ", ")
}

// Sleeping returns the call in which a thread sleeps, with the time that is left, or the requested time, if one is
// known: "sleep, 999.8 s left".
func Sleeping(call string, s *picture.Sleep) string {
	switch {
	case s == nil:
	case s.Endless:
		return call + ", until a signal comes"
	case s.Left != nil:
		return call + ", " + duration(*s.Left) + " left"
	case s.Seconds != nil:
		return call + " for " + duration(*s.Seconds)
	}
	return call
}

// HolderClause returns the relation of a step's holder to the object of the wait, as a relative clause without its
// pronoun: "LWP 5 holds", "depends on LWP 5". release is the place where the holder may release it, such as
// " in main x.c:7"; self is set if the waiting thread holds the object itself.
func HolderClause(s picture.CycleStep, holder, release string, self bool) string {
	switch row := s.WaitsFor.Kind.Traits(); {
	case row.Executes:
		return holder + " is in"
	case s.MayRelease && self:
		return "it holds itself and " + holder + " may release" + release
	case s.MayRelease:
		return holder + " may release" + release
	case row.Exclusive:
		return holder + " holds"
	}
	return "depends on " + holder
}

// HeldBy returns the same relation before the name of the holder: "held by", "not reached by".
func HeldBy(s picture.CycleStep) string {
	switch kind := s.WaitsFor.Kind; {
	case s.MayRelease:
		return "may be released by"
	case kind.Exclusive():
		return "held by"
	case kind == picture.WaitBarrier:
		return "not reached by"
	}
	return "depends on"
}
