package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Loop is a running fork_loop.
type Loop struct {
	*exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	errs   bytes.Buffer
}

// End ends fork_loop, which fails if a sum was wrong, and returns the number of iterations.
func (l *Loop) End(t testing.TB) int {
	t.Helper()
	l.input.Close()
	rest, err := io.ReadAll(l.output)
	if err := errors.Join(err, l.Wait()); err != nil {
		t.Fatalf("fork_loop: %v, %s%s", err, rest, l.errs.String())
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(rest), " iterations\n"))
	if err != nil {
		t.Fatalf("fork_loop: %q", rest)
	}
	return n
}

// loopSeconds bounds the life of a fork_loop that no test ends.
const loopSeconds = 3600

// StartLoop starts fork_loop and waits until it forks.
func StartLoop(t testing.TB, run omptest.Run) *Loop {
	t.Helper()
	return StartLoopBy(t, run)
}

// StartLoopBy starts the program as StartLoop does, but under another command.
func StartLoopBy(t testing.TB, run omptest.Run, by ...string) *Loop {
	t.Helper()
	l := &Loop{Cmd: run.Command(t.TempDir(), strconv.Itoa(loopSeconds))}
	l.Args = slices.Insert(l.Args, 3, by...) // after sh -c SCRIPT
	l.Stderr = &l.errs
	var err1, err2 error
	l.input, err1 = l.StdinPipe()
	out, err2 := l.StdoutPipe()
	if err := errors.Join(err1, err2, l.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Process.Kill() })
	l.output = bufio.NewReader(out)
	if line, err := l.output.ReadString('\n'); line != "READY\n" {
		t.Fatalf("fork_loop: %q, %v, %s", line, err, l.errs.String())
	}
	return l
}
