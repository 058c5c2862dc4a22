package picture

import (
	"fmt"
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

// Undecided says why the picture does not tell whether the program hangs though no verdict
// says that it does; empty if it tells.
func (p *Picture) Undecided() string {
	if slices.Contains(p.Unreached, "verdicts") {
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
