package live

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestFollowStopsNothing follows the events of a busy program under strace: no system call stops the program, and
// all reads of its memory use process_vm_readv.
func TestFollowStopsNothing(t *testing.T) {
	l := e2e.StartLoop(t, omptest.Run{
		Exe:     omptest.Compile(t, omptest.Build{Program: "healthy_busy", Compiler: omptest.GCC}),
		Runtime: omptest.Libgomp(t), Env: []string{"LD_PRELOAD=" + omptest.Recorder(t)},
	})
	calls, errs := filepath.Join(t.TempDir(), "calls"), strings.Builder{}
	cmd := exec.CommandContext(t.Context(), omptest.Program(t, "strace"), "-f", "-o", calls, "-e",
		"trace=ptrace,process_vm_readv,kill,tkill", "ompd-inspect", "trace", "--follow", strconv.Itoa(l.Process.Pid))
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Fatal(err)
	}
	const enough = 2000
	lines := 0
	for s := bufio.NewScanner(out); s.Scan(); {
		if lines++; lines == enough {
			l.End(t) // and so does follow
		}
	}
	_ = cmd.Wait()
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, "ptrace(") || regexp.MustCompile(`kill\(\d+, SIGSTOP`).MatchString(text) {
		t.Errorf("it stops the program: %s", text)
	}
	if n := strings.Count(text, "process_vm_readv("); n < 20 || lines < enough {
		t.Errorf("it reads %d times, and shows %d lines; %s", n, lines, errs.String())
	}
}
