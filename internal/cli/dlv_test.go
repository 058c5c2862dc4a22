package cli

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// startDelveProxy starts `ompd-inspect dlv` for a Delve, with flags, and returns its address.
func startDelveProxy(t *testing.T, socket string, flags ...string) (address string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		c := Command{Version: "test", Stdout: write, Stderr: os.Stderr}
		done <- c.Run(t.Context(), append([]string{"dlv", "--no-debuginfod", "delve://" + socket}, flags...))
		write.Close()
	}()
	t.Cleanup(func() { <-done })
	line, err := bufio.NewReader(read).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("%q, %v", line, err)
	}
	return address
}

// TestDlv connects dlv's own terminal through the proxy: goroutines have labels, C threads have names, and the
// script adds the command omp.
func TestDlv(t *testing.T) {
	omptest.Needs(t, "Delve")
	run := omptest.Run{Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live}
	p := omptest.Start(t, run)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	address := startDelveProxy(t, omptest.AttachDelve(t, p, "--accept-multiclient"))
	script := filepath.Join(t.TempDir(), "script")
	star, err := filepath.Abs("../target/delve/omp.star")
	if err != nil {
		t.Fatal(err)
	}
	commands := "source " + star + "\nomp regions\nomp nothing\ngoroutines -l\n" +
		"goroutines -with label omp.state=work_parallel -group label omp.team\n" +
		"goroutines -with label omp.state=no_state -group label omp.state\n" +
		"goroutines -without label omp -group label omp\nthreads\nprint 1+2\nquit -c\n"
	if err := os.WriteFile(script, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(omptest.Delve(t), "connect", address, "--init", script, "--allow-non-terminal-interactive=true")
	cmd.Stdin = strings.NewReader("quit -c\n")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{
		`REGIONS +1 parallel region`, `it must be one of report, diagnose`, `"omp\.state":"work_parallel"`,
		`"omp\.team":"\d/4"`, `Thread \d+ at .*\[OMP \d/4 \S+ · work_parallel`, `(?m)^3$`,
		`(?m)^omp\.team=3/4\n.*main\.goMember.*\n\tTotal: 1$`, `(?m)^omp=\n(.*\n)+\tTotal: 7$`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("%v: dlv shows no %q:\n%s", err, want, out)
		}
	}
}
