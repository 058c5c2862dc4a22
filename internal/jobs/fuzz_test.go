package jobs

import (
	"slices"
	"testing"
)

// FuzzNodes parses output of sinfo and kubectl: names are valid in Slurm, listed once, and not readable as an
// option of a command.
func FuzzNodes(f *testing.F) {
	f.Add("node1 idle\nnode2 down*\nnode2 down*\nnode3 mixed*\n\n x\n")
	f.Add(`{"items":[{"metadata":{"name":"solver-0"},"status":{"phase":"Running"}},` +
		`{"metadata":{"name":"-o"},"status":{"phase":"Pending","reason":"Unschedulable"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		nodes := parseNodes(text)
		names := make([]string, len(nodes))
		for i, n := range nodes {
			names[i] = n.Name
		}
		slices.Sort(names)
		if slices.Contains(names, "") || len(slices.Compact(names)) != len(nodes) {
			t.Errorf("%q: %q", text, nodes)
		}
		pods, _ := parsePods([]byte(text))
		for _, n := range append(nodes, pods...) {
			e, err := Via("ssh {host}", n.Name, Remote{Tool: "t"})
			if err == nil && (len(e.Argv) < 3 || e.Argv[1] == "" || e.Argv[1][0] == '-') {
				t.Errorf("%q: %q", n.Name, e.Argv)
			}
		}
	})
}
