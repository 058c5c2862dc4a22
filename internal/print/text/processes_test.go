package text

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestProcesses checks the order of the list, the next command, and an empty list without and with processes that
// could not be inspected.
func TestProcesses(t *testing.T) {
	process := func(pid int, state string, cpu float64) picture.Process {
		return picture.Process{PID: pid, User: "u", Command: []string{"solver"}, State: state, Threads: 4, CPU: cpu,
			Runtimes: []picture.ProcessCode{{Family: "libomp"}}}
	}
	for _, c := range []struct {
		list     []picture.Process
		hidden   int
		readable int
		want     []string // in this order
	}{
		{[]picture.Process{process(11, "running", 4), process(12, "sleeping", 0), process(13, "sleeping", 1.5),
			process(14, "stopped", 0), process(15, "running", 0)}, 0, 9,
			[]string{"\n  12 ", "\n  14 ", "\n  11 ", "\n  13 ", "\n  15 ", "next: ompd-inspect 12\n"}},
		{nil, 0, 9, []string{"no process on this machine has an OpenMP runtime loaded\n"}},
		{nil, 46, 12, []string{"none of the 12 processes that you may inspect has an OpenMP runtime loaded\n",
			"46 processes could not be inspected; for lack of permission\n"}},
		{nil, 46, 1, []string{"the one process that you may inspect has no OpenMP runtime loaded\n"}},
		{nil, 46, 0, []string{"none of the processes that you may inspect has an OpenMP runtime loaded\n",
			"46 processes could not be inspected; for lack of permission\n"}},
	} {
		var b strings.Builder
		list := &picture.Processes{Processes: c.list, Hidden: c.hidden}
		list.SetReadable(c.readable)
		Processes(New(&b, false, NoLimit), list)
		rest := b.String()
		for _, w := range c.want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("no %q, in this order, in\n%s", w, b.String())
			}
			rest = after
		}
		if c.hidden > 0 && strings.Contains(b.String(), "no process on this machine") {
			t.Errorf("with %d hidden processes:\n%s", c.hidden, b.String())
		}
	}
}
