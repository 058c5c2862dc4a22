package report

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// TestReportInSandbox looks at a core, plain and compressed, in a process that has dropped its rights: the report
// equals that of a process with all rights, except for the second in which it was made.
func TestReportInSandbox(t *testing.T) {
	bin, core := e2e.BuildTool(t), e2e.DumpProgram(t, "lock_cycle").Core
	packed := t.TempDir() + "/core.gz"
	if out, err := exec.Command("sh", "-c", `gzip -c "$0" > "$1"`, core, packed).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ask := func(args ...string) string {
		var out, errs bytes.Buffer
		cmd := exec.Command(bin, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, &errs)
		}
		return out.String()
	}
	checks := ask("doctor", core)
	if strings.Contains(checks, "the kernel has no Landlock") || strings.Contains(checks, "seccomp: ") {
		t.Skipf("this kernel or container cannot lock processes in: %s", checks)
	}
	if want := "ok      sandbox: this process can write only temporary files"; !strings.Contains(checks, want) {
		t.Errorf("doctor does not say %q:\n%s", want, checks)
	}
	made := regexp.MustCompile(`(?m)^report made \d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	report := func(args ...string) string {
		text := ask(append([]string{"report"}, args...)...)
		if n := len(made.FindAllString(text, -1)); n != 1 {
			t.Errorf("the report has %d times:\n%s", n, text)
		}
		return made.ReplaceAllString(text, "report made at some time")
	}
	for _, name := range []string{core, packed} {
		inside, outside := report("--sandbox=require", name), report("--sandbox=off", name)
		if inside != outside || !strings.Contains(inside, "DEADLOCK") {
			t.Errorf("%s, inside:\n%s\noutside:\n%s", name, inside, outside)
		}
	}
}
