package omptest

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// StartReady starts a program and waits for its first line, which must start with READY. It returns the line and the
// rest of the output. The end of the test kills the program.
func StartReady(tb testing.TB, cmd *exec.Cmd) (line string, rest *bufio.Reader) {
	tb.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	rest = bufio.NewReader(out)
	if line, err = rest.ReadString('\n'); !strings.HasPrefix(line, "READY") {
		tb.Fatalf("%s printed %q: %v", cmd.Path, line, err)
	}
	return line, rest
}
