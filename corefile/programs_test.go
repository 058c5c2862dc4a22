package corefile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// program is a running testdata/plain.c.
type program struct {
	exe, core                             string
	main, globalData, untouched, constant uint64
	threads                               []programThread
}

// programThread is what a thread of the program printed about itself.
type programThread struct {
	lwp, pthread, mineAt, loadedAt uint64
	mine                           int
}

// compileC compiles C files of testdata with the C compiler.
func compileC(t testing.TB, out string, args ...string) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	cmd := exec.Command("gcc", append([]string{"-g", "-O1", "-pthread", "-o", out}, args...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: apt-get install gcc libc6-dev\n%s", cmd, err, b)
	}
	return out
}

// runPlain builds testdata/plain.c, runs it, and makes a core of it: by abort, or by gcore.
func runPlain(t testing.TB, mode string, flags ...string) *program {
	t.Helper()
	exe := compileC(t, filepath.Join(t.TempDir(), "plain"), append([]string{"testdata/plain.c"}, flags...)...)
	return runExe(t, exe, mode)
}

func runExe(t testing.TB, exe, mode string) *program {
	t.Helper()
	return runCommand(t, mode, exe)
}

// runCommand runs a command that ends with the program.
func runCommand(t testing.TB, mode string, command ...string) *program {
	t.Helper()
	p := &program{exe: command[len(command)-1]}
	dir := t.TempDir()
	cmd := exec.Command(command[0], append(command[1:], mode)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p.read(t, bufio.NewScanner(out))
	if mode == "gcore" {
		prefix := filepath.Join(dir, "core")
		if b, err := exec.Command("gcore", "-o", prefix, fmt.Sprint(cmd.Process.Pid)).CombinedOutput(); err != nil {
			t.Fatalf("gcore: %v: apt-get install gdb\n%s", err, b)
		}
	} else {
		cmd.Wait()
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("%d cores in the working directory: as root, sysctl kernel.core_pattern=core", len(cores))
	}
	p.core = cores[0]
	return p
}

// read reads the program's output until it is ready.
func (p *program) read(t testing.TB, lines *bufio.Scanner) {
	t.Helper()
	for lines.Scan() {
		line := lines.Text()
		var th programThread
		loaded := ""
		if line == "ready" {
			return
		}
		if _, err := fmt.Sscanf(line, "symbols %v %v %v %v", &p.main, &p.globalData, &p.untouched,
			&p.constant); err == nil {
			continue
		}
		if _, err := fmt.Sscanf(line, "thread %d %v mine %v %d loaded %s", &th.lwp, &th.pthread, &th.mineAt, &th.mine,
			&loaded); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.HasPrefix(loaded, "0x") {
			fmt.Sscanf(loaded, "%v", &th.loadedAt)
		}
		p.threads = append(p.threads, th)
	}
	t.Fatal("the program ended before it was ready")
}

// copyFile copies a small file.
func copyFile(t testing.TB, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
