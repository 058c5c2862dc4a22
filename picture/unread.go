package picture

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// UnreadText begins what is said of what could not be read; the reason follows.
const UnreadText = "could not be read: "

// Unread reports whether what the thread is, or does, could not be read. A state that is
// not known though everything was read does not count.
func (t *Thread) Unread() bool {
	return t.Role == RoleUnknown ||
		t.State != nil && t.State.Name == StateUndefined && strings.HasPrefix(t.State.Evidence, UnreadText)
}

// unreadLayout is the Layout of a runtime of which nothing could be read; the reason follows.
const unreadLayout = "none: " + UnreadText

// NotRead is a runtime in the module at path of which nothing could be read, and why.
func NotRead(path, why string) Runtime {
	const name = "OpenMP runtime"
	why = strings.TrimPrefix(why, name+" in "+path+": ")
	return Runtime{ID: filepath.Base(path), Name: name, Path: path, Layout: unreadLayout + why}
}

// Unread reports whether nothing of the runtime could be read.
func (r *Runtime) Unread() bool { return strings.HasPrefix(r.Layout, unreadLayout) }

// NoRuntime says why the picture has nothing of OpenMP though a runtime is there; empty if one
// could be read, or none is there.
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

// Undecided says why the picture does not tell whether the program hangs though no verdict
// says that it does; empty if it tells, or the program died of what keeps its threads from being read:
// its runtime's memory was overwritten, or a stack was exceeded, perhaps into those of other threads.
func (p *Picture) Undecided() string {
	if p.Target.CrashedLWP != 0 && slices.ContainsFunc(p.Verdicts, func(v Verdict) bool {
		return (v.Kind == VerdictOverwritten || v.Kind == VerdictStackOverflow) && v.Certainty != Possible
	}) {
		return ""
	}
	if slices.Contains(p.Incomplete, "verdicts") {
		return "the time was spent before a verdict could be drawn"
	}
	n := 0
	for i := range p.Threads {
		if p.Threads[i].Unread() {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "what 1 thread does could not be read"
	}
	return fmt.Sprintf("what %d threads do could not be read", n)
}
