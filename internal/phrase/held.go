package phrase

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxHeld is how many locks are named that one thread holds.
const maxHeld = 2

// Held names what a thread holds and others wait for: "lock table", "critical halo, mutex m and 2 more".
func Held(list []picture.WaitTarget) string {
	var names []string
	for _, t := range list {
		name := t.Name
		if name == "" && t.Address != nil {
			name = t.Address.String()
		}
		names = append(names, strings.TrimSpace(string(t.Kind)+" "+name))
	}
	return Some(names, maxHeld, len(names))
}
