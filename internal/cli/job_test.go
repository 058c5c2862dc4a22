package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHosts checks the hosts of the command line and of a file, each listed once, and their names on a page and
// in the command to repeat.
func TestHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("n2 slots=4\n# none\n\nn1:8  # first\nn3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &jobOptions{jobPlaces: jobPlaces{hosts: []string{"n3", "n0"}, hostfile: file, via: "ssh -p 22 {host}"}}
	hosts, err := o.allHosts()
	if err != nil || !slices.Equal(hosts, []string{"n0", "n1", "n2", "n3"}) {
		t.Errorf("%q, %v", hosts, err)
	}
	if got, want := o.arguments(), "--hosts n3,n0 --hostfile "+file+" --via 'ssh -p 22 {host}'"; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
	if got := describeHosts(hosts); got != "--hosts n0,n1,n2,n3" {
		t.Errorf("four hosts: %s", got)
	}
	var many []string
	for i := range 1250 {
		many = append(many, fmt.Sprint("node", i))
	}
	again := (&jobPlaces{hosts: many}).arguments()
	got := describeHosts(many)
	if got != "of 1250 hosts (node0, …)" || len(again) > 80 || !strings.HasSuffix(again, ",…") {
		t.Errorf("many hosts: %s; %s", got, again)
	}
	if err := os.WriteFile(file, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&jobOptions{jobPlaces: jobPlaces{hostfile: file}}).allHosts(); err == nil {
		t.Error("a file without hosts is accepted")
	}
}
