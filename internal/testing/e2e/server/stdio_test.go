package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// stdioLimit is much longer than a normal end takes. gRPC waits two minutes for an unused connection.
const stdioLimit = 20 * time.Minute

// frameOf is a frame of call 1 as a debugger sends it.
func frameOf(kind byte, body string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return string(append(binary.BigEndian.AppendUint32(head, 1), kind)) + body
}

// mostEnding is the CPU time that a server may use to end with its pipe.
const mostEnding = 100 * time.Millisecond

// TestStdioServerEndsWhileUnpacking closes the pipe while a core is unpacked, seconds before that is finished.
func TestStdioServerEndsWhileUnpacking(t *testing.T) {
	dir := t.TempDir()
	core := filepath.Join(dir, "core.zst")
	packed, err := os.ReadFile(filepath.Join(e2e.GoldenDir, "gnu-barrier", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := w.EncodeAll(make([]byte, 64<<20), nil)
	for range 256 {
		packed = append(packed, zeros...)
	}
	if err := os.WriteFile(core, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := e2e.Process("serve", "--stdio")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	stdin, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	const open = "ompd.v1.InspectionService/OpenTarget"
	if _, err := io.WriteString(stdin, frameOf('C', open)+frameOf('M', `{"spec": {"core": "`+core+`"}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, frameOf('E', "")); err != nil {
		t.Fatal(err)
	}
	e2e.AwaitWriting(cmd.Process.Pid, filepath.Join(dir, "unpacked"))
	_ = unix.Kill(cmd.Process.Pid, unix.SIGSTOP) // all time counted comes after the end of the pipe
	e2e.AwaitStopped(t, cmd.Process.Pid, 0)
	before := usedBy(t, cmd.Process.Pid)
	stdin.Close()
	_ = unix.Kill(cmd.Process.Pid, unix.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - before
	if t.Logf("%v of a processor", used); used > mostEnding {
		t.Errorf("it took %v of a processor to end, more than %v", used, mostEnding)
	}
}

// usedBy returns the CPU time that a process has used.
func usedBy(t *testing.T, pid int) time.Duration {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	sum := time.Duration(0)
	for _, task := range tasks {
		var used int64
		if b, err := os.ReadFile(task); err == nil {
			_, _ = fmt.Sscan(string(b), &used)
		}
		sum += time.Duration(used)
	}
	return sum
}

// TestStdioServerEndsWithPipe requires that `serve --stdio` ends with its pipe, whatever input came through it.
func TestStdioServerEndsWithPipe(t *testing.T) {
	frame := frameOf
	const list = "ompd.v1.InspectionService/ListTargets"
	for name, in := range map[string]string{
		"nothing": "", "garbage": "garbage, and more of it\n", "a frame cut short": frame('V', "{}")[:3],
		"an unknown frame": frame('?', "{}"), "a huge frame": "\xff\xff\xff\xff\x00\x00\x00\x01C",
		"a verb": frame('V', `["version"]`), "a verb that is none": frame('V', `["nonsense"]`),
		"half of a call": frame('C', list),
		"a call":         frame('C', list) + frame('M', "{}") + frame('E', ""),
		"a debugger":     frame('C', "ompd.v1.DebuggerService/Attach"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
				t.Fatal(err)
			}
			stdin, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			ended := make(chan int, 1)
			go func() {
				c := cli.Command{Stdin: stdin, Stdout: null, Stderr: null}
				ended <- c.Run(t.Context(), []string{"serve", "--stdio"})
			}()
			late := time.NewTimer(stdioLimit)
			defer late.Stop()
			select {
			case <-ended:
			case <-late.C:
				t.Error("it goes on without its pipe")
			}
		})
	}
}
