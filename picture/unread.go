package picture

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// UnreadText is the start of the text for something that could not be read; the reason follows.
const UnreadText = "could not be read: "

// Unread reports whether the thread's role or state could not be read. A state that is
// unknown although everything was read does not count.
func (t *Thread) Unread() bool {
	return t.Role == RoleUnknown ||
		t.State != nil && t.State.Name == StateUndefined && strings.HasPrefix(t.State.Evidence, UnreadText)
}

// StateUnknown reports whether the activity of the thread is unknown: it could not be read, or the runtime has a state
// for it that nothing decides.
func (t *Thread) StateUnknown() bool {
	return t.Unread() || t.Runtime != "" && t.State != nil && t.State.Name == StateUndefined
}

// unreadLayout is the start of the Layout of a runtime that could not be read; the reason follows.
const unreadLayout = "none: " + UnreadText

// UnreadRuntime returns a Runtime for the module at path that could not be read, with the reason.
func UnreadRuntime(path, why string) Runtime {
	const name = "OpenMP runtime"
	why = strings.TrimPrefix(why, name+" in "+path+": ")
	return Runtime{ID: filepath.Base(path), Name: name, Path: path, Layout: unreadLayout + why}
}

// Unread reports whether the runtime could not be read at all.
func (r *Runtime) Unread() bool { return strings.HasPrefix(r.Layout, unreadLayout) }

// NoRuntime explains why the picture has no OpenMP state although the target has a runtime. It returns "" if a
// runtime could be read, or if it is missing.
func (p *Picture) NoRuntime() string { return NoRuntime(p.Runtimes) }

// NoRuntime is Picture.NoRuntime of a list of runtimes.
func NoRuntime(runtimes []Runtime) string {
	var why []string
	for i := range runtimes {
		if !runtimes[i].Unread() {
			return ""
		}
		text := strings.TrimPrefix(runtimes[i].Layout, unreadLayout)
		why = append(why, fmt.Sprintf("%s in %s: %s", runtimes[i].Name, runtimes[i].Path, text))
	}
	return strings.Join(why, "; ")
}

// Undecided explains why a picture without a verdict of a hang does not show that the program is healthy. It returns ""
// if the picture shows it, or if the program died of the damage that keeps its threads from being read: the runtime's
// memory was overwritten, or a stack overflowed, perhaps into those of other threads.
func (p *Picture) Undecided() string {
	if p.Target.CrashedLWP != 0 && slices.ContainsFunc(p.Verdicts, func(v Verdict) bool {
		return (v.Kind == VerdictOverwritten || v.Kind == VerdictStackOverflow) && v.Certainty != Possible
	}) {
		return ""
	}
	if slices.Contains(p.Incomplete, "verdicts") {
		return "a limit of time or memory was reached before a verdict could be drawn"
	}
	unread, unknown, all := 0, 0, 0
	for i := range p.Threads {
		switch t := &p.Threads[i]; {
		case t.Unread():
			unread++
		case t.StateUnknown():
			unknown++
		}
		if p.Threads[i].Runtime != "" {
			all++
		}
	}
	// In a running program, a thread or two may just be in code of the runtime that shows no state.
	n := unread
	if unread > 0 || 2*unknown > all {
		n += unknown
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "the state of 1 thread is unknown"
	}
	return fmt.Sprintf("the states of %d threads are unknown", n)
}
