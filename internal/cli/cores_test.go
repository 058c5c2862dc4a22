package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
)

// TestExplainPattern checks the place of cores and the command for the collectors of distributions, for a
// container, and for files.
func TestExplainPattern(t *testing.T) {
	here := func(string) bool { return true }
	for _, c := range []struct {
		pattern string
		exists  func(string) bool
		want    string
	}{
		{"|/usr/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h %d", here, "`coredumpctl list`"},
		{"|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -F%F -- %E", here, "/var/crash/*.crash"},
		{"|/usr/libexec/abrt-hook-ccpp %s %c %p %u %g %t %P %I", here, "`abrt list`"},
		{"|/opt/site/keep-core %p", here, "go to the program /opt/site/keep-core"},
		{"|/usr/lib/systemd/systemd-coredump %P", func(string) bool { return false }, "they are on its host"},
		{"/var/cores/core.%e.%p", here, "writes cores of this machine to /var/cores/"},
		{"core.%p", here, "as core.%p in the program's directory"},
		{"", here, ""},
	} {
		got := explainPattern(c.pattern, c.exists)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q: %q, want %q", c.pattern, got, c.want)
		}
	}
	notCore := fmt.Errorf("notes: %w: it is a text file", corefile.ErrNotCore)
	if got := explainNotCore("|/nowhere/systemd-coredump", notCore); !errors.Is(got, corefile.ErrNotCore) ||
		!strings.Contains(got.Error(), "a text file; cores of this machine go to /nowhere/systemd-coredump") {
		t.Error(got)
	}
	for _, err := range []error{nil, errors.New("other"), fmt.Errorf("%w: %w", corefile.ErrNotCore,
		corefile.ErrExecutable)} {
		if got := explainNotCore("|/nowhere/systemd-coredump", err); any(got) != any(err) { // the same value
			t.Errorf("%v, want %v", got, err)
		}
	}
}

// TestCorePatternGlob checks that the pattern of an absolute core_pattern matches the names that the kernel makes
// of it.
func TestCorePatternGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"/var/cores/core.%e.%p", "/var/cores/core.solver.1234", true},
		{"/var/cores/core", "/var/cores/core.1234", true}, // core_uses_pid
		{"/var/cores/100%%-%p", "/var/cores/100%-7", true},
		{"/var/[c]/core.%p", "/var/[c]/core.7", true},
		{"/var/[c]/core.%p", "/var/c/core.7", false},
		{"/var/cores/core.%p", "/var/cores/notes", false},
	} {
		if got, err := filepath.Match(corePatternGlob(c.pattern), c.name); err != nil || got != c.want {
			t.Errorf("%s, %s: %v, %v", c.pattern, c.name, got, err)
		}
	}
}
