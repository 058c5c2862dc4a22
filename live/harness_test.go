package live

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// childMode is the environment variable that makes the test's own executable a tool. Its value is
// the number of the process to inspect.
const childMode = "OMPD_LIVE_CHILD"

func TestMain(m *testing.M) {
	stopTime = lifeTime // the machine may be overloaded
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(runTool(mode))
	}
	os.Exit(m.Run())
}

// runTool runs the tool: "look PID" looks until it is killed, "open PID" prints the error of Open and
// Look, "free PID" that of a look without a stop.
func runTool(mode string) int {
	if request, err := strconv.Atoi(os.Getenv(refuseMode)); err == nil {
		if err := installFilter(uint32(request)); err != nil {
			fmt.Println(errNoFilter, err)
			return 0
		}
	}
	if mode == "guard" {
		return runGuarded(os.Args[1:])
	}
	var what string
	var pid int
	if _, err := fmt.Sscan(mode, &what, &pid); err != nil {
		fmt.Println(err)
		return 2
	}
	read := readFrames
	if what == "free" {
		read = readFirst
	}
	p, err := Open(pid, Options{NoStop: what == "free"})
	for n := 0; err == nil; n++ {
		_, err = p.Look(background, read)
		if what != "look" {
			break
		}
		if n == 0 {
			fmt.Println("LOOKING")
		}
	}
	if err != nil {
		fmt.Println("ERROR", err)
	}
	return 0
}

// startTool starts the test's own executable as the tool.
func startTool(t testing.TB, what string, pid int, as *syscall.Credential) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", childMode, what, pid))
	// A process group of its own with its parent outside: SIGTSTP does not stop the members of an
	// orphaned group, and services run their jobs in one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	cmd.Dir = "/"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, readLines(t, out)
}

// program is a running program of testdata.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	pid int
	in  io.WriteCloser
	out *bufio.Reader
}

// compile builds a program of testdata in a directory that every user can read.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	dir := t.TempDir()
	exe := filepath.Join(dir, strings.TrimSuffix(source, filepath.Ext(source)))
	args := append([]string{"-O2", "-g", "-pthread", "-o", exe, filepath.Join("testdata", source)}, flags...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc %v: %v: apt-get install gcc\n%s", args, err, out)
	}
	for ; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			break
		}
	}
	return exe
}

// run starts a program and waits until it is ready.
func run(t testing.TB, as *syscall.Credential, exe string, args ...string) *program {
	t.Helper()
	return launch(t, as, exec.Command(exe, args...))
}

// launch is run for a command.
func launch(t testing.TB, as *syscall.Credential, cmd *exec.Cmd) *program {
	t.Helper()
	// A process group of its own with its parent outside: SIGTSTP does not stop the members of an
	// orphaned group, and services run their jobs in one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	cmd.Dir = "/"
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: cmd, pid: cmd.Process.Pid, in: in, out: readLines(t, out)}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	p.expect("READY")
	return p
}

func startProgram(t testing.TB, source string, args ...string) *program {
	t.Helper()
	return run(t, nil, compile(t, source), args...)
}

// expect reads the next line of output, after the lines LOOKED of a guard.
func (p *program) expect(want string) {
	p.t.Helper()
	got := nextLine(p.t, p.out)
	for got == "LOOKED" && want != got {
		got = nextLine(p.t, p.out)
	}
	if got != want {
		p.t.Fatalf("the program printed %q, want %q", got, want)
	}
}

// lifeTime bounds the time that a program's output is read. A test that waits for missing output
// fails by itself before the time of all tests is over.
const lifeTime = 20 * time.Minute

// readLines reads the output of a program from cmd.StdoutPipe.
func readLines(t testing.TB, out io.Reader) *bufio.Reader {
	t.Helper()
	if err := out.(*os.File).SetReadDeadline(time.Now().Add(lifeTime)); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(out)
}

func nextLine(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return strings.TrimSuffix(s, "\n")
}

// finish makes the program end by itself, and checks that it found no error.
func (p *program) finish() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "x\n"); err != nil {
		p.t.Fatal(err)
	}
	p.expect("OK")
	if err := p.cmd.Wait(); err != nil {
		p.t.Error(err)
	}
}

// processState returns the process state letter of ps(1).
func processState(t testing.TB, pid int) string {
	t.Helper()
	fields, err := statFields(procPath(pid, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	return fields[0]
}

// mustReadProgress reads the program's counter.
func mustReadProgress(t testing.TB, target callbacks.Target) uint64 {
	t.Helper()
	n, err := readProgress(target)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func readProgress(target callbacks.Target) (uint64, error) {
	a, err := target.Symbol("progress", "")
	if err != nil {
		return 0, err
	}
	var b [8]byte
	err = target.ReadMemory(a, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// waitForProgress waits until the program's counter has changed.
func waitForProgress(t testing.TB, p *Process) {
	t.Helper()
	for before := mustReadProgress(t, p); mustReadProgress(t, p) == before; {
		if err := p.endReason(); err != nil {
			t.Fatal(err)
		}
	}
}
