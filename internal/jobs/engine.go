package jobs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
)

// Errand is a command with parts of a job on its standard output, one per line. srun, ssh, clush or kubectl run
// `ompd-inspect job-node` in this way.
type Errand struct {
	Host string // host for messages about a failure; a description for several hosts
	Argv []string
	Send string // file for its standard input; may be empty
}

const (
	// maxBrought bounds the output of one errand, in bytes: 15,625 nodes of 64 ranks send 13 MB.
	maxBrought = 1 << 30
	// maxComplaint bounds the kept error output of an errand, in bytes.
	maxComplaint = 300
	// goodbye is the time that an errand has to exit after SIGTERM.
	goodbye = 2 * time.Second
)

// tail keeps the end of the text that is written to it.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-maxComplaint):]
	return len(p), nil
}

// line returns the last line that is not blank.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// Run runs the errand until it exits or ctx is canceled, and passes each part to emit as it arrives. Parts stay
// valid if the errand fails.
func (e Errand) Run(ctx context.Context, emit func(*job.Part)) error {
	cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = goodbye
	said := &tail{}
	cmd.Stderr = said
	if e.Send != "" {
		f, err := os.Open(e.Send)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", e.Argv[0], err)
	}
	parts, readErr := readParts(out, said, emit)
	waitErr := cmd.Wait()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // kill the processes that it left
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer in time: %w", ctx.Err())
	case readErr != nil:
		return readErr
	case waitErr != nil && said.line() != "":
		return fmt.Errorf("%s: %w: %s", e.Argv[0], waitErr, said.line())
	case waitErr != nil:
		return fmt.Errorf("%s: %w", e.Argv[0], waitErr)
	case parts == 0 && said.line() != "":
		return fmt.Errorf("%s brought no answer: %s", e.Argv[0], said.line())
	case parts == 0:
		return fmt.Errorf("%s brought no answer: is there an ompd-inspect of this version?", e.Argv[0])
	}
	return nil
}

// readParts passes the parts among the lines of r to emit, and writes other lines to said.
func readParts(r io.Reader, said io.Writer, emit func(*job.Part)) (parts int, err error) {
	in, d := bufio.NewReaderSize(io.LimitReader(r, maxBrought), 1<<16), job.Decoder{}
	for {
		line, err := readLine(in)
		if len(bytes.TrimSpace(line)) > 0 {
			switch p, bad := d.Decode(line); {
			case bad == nil:
				parts++
				emit(p)
			case errors.Is(bad, job.ErrNoPart):
				_, _ = said.Write(append(line, '\n'))
			default:
				return parts, bad
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			return parts, nil // the errand was ended, which its caller reports
		}
	}
}

// readLine reads a line. It may truncate a line that is longer than a part.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		piece, more, err := in.ReadLine()
		if room := job.MaxLine + 1<<10 - len(line); room > 0 {
			line = append(line, piece[:min(len(piece), room)]...)
		}
		if err != nil || !more {
			return line, err
		}
	}
}
