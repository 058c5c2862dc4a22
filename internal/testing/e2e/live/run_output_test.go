package live

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRunCoresOfTwoProcesses writes the cores of two processes of one run to separate files that only their owner
// can read. Run replaces no path that is not a regular file.
func TestRunCoresOfTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	core := filepath.Join(dir, "core")
	for range 2 { // the second run replaces the core of the first
		if status, _, errs := e2e.Output(t, "run", "--core", core, "--", "sh", "-c",
			"exec 2>/dev/null; ulimit -c 0; kill -ABRT $$"); status != cli.ExitSignal+int(unix.SIGABRT) {
			t.Fatalf("exit status %d: %s", status, errs)
		}
	}
	const script = `exec 2>/dev/null; ulimit -c 0; echo $$ > pid; sh -c 'kill -SEGV $$'; kill -ABRT $$`
	status, _, errs := e2e.Output(t, "run", "--core", core, "--", "sh", "-c", "cd "+dir+"; "+script)
	b, _ := os.ReadFile(filepath.Join(dir, "pid"))
	second := core + "." + strings.TrimSpace(string(b))
	if status != cli.ExitSignal+int(unix.SIGABRT) {
		t.Errorf("exit status %d: %s", status, errs)
	}
	for path, want := range map[string]string{core: "SIGSEGV", second: "SIGABRT"} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", path, info, err)
		}
		if pic := e2e.Report(t, path); pic.Target.Signal != want {
			t.Errorf("%s: %s, want %s", path, pic.Target.Signal, want)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "link")} {
		os.Symlink("/dev/null", filepath.Join(dir, "link"))
		_, _, errs := e2e.Output(t, "run", "--core", name, "--", "sh", "-c", "ulimit -c 0; kill -ABRT $$")
		if _, err := os.Lstat(name); err != nil || !strings.Contains(errs, name+": what is there is not a regular "+
			"file") {
			t.Errorf("%s: %v: %s", name, err, errs)
		}
	}
}

// TestRunUnwritableOutput requires that run reports an unwritable place for a report or core at the start, and
// starts no program. If the place disappears before the end, the report is on standard error.
func TestRunUnwritableOutput(t *testing.T) {
	dir := t.TempDir()
	precious, started := filepath.Join(dir, "precious"), filepath.Join(dir, "started")
	if err := os.WriteFile(precious, []byte("notes"), 0o644); err != nil {
		t.Fatal(err)
	}
	const abort = "exec 2>/dev/null; ulimit -c 0; touch started; kill -ABRT $$"
	for _, flag := range []string{"--report", "--core"} {
		for name, want := range map[string]string{precious: "--force replaces it",
			filepath.Join(dir, "no", "file"): "no such file or directory"} {
			status, _, errs := e2e.Output(t, "run", flag, name, "--", "sh", "-c", "cd "+dir+"; "+abort)
			if _, err := os.Stat(started); err == nil {
				t.Fatalf("%s %s: the program was started", flag, name)
			}
			if status != cli.ExitOwn || !strings.Contains(errs, name+": ") || !strings.Contains(errs, want) {
				t.Errorf("%s %s: exit status %d: %s; want %d and %q", flag, name, status, errs, cli.ExitOwn, want)
			}
		}
	}
	if b, err := os.ReadFile(precious); string(b) != "notes" {
		t.Errorf("the file that is not ours has %q, %v", b, err)
	}
	e2e.Output(t, "run", "--force", "--report", precious, "--", "sh", "-c", "cd "+dir+"; "+abort)
	if b, _ := os.ReadFile(precious); !strings.Contains(string(b), "SIGABRT") {
		t.Errorf("the report in place of it: %q", b)
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, errs := e2e.Output(t, "run", "--report", filepath.Join(gone, "report"), "--", "sh", "-c",
		"rmdir "+gone+"; cd "+dir+"; "+abort)
	if !strings.Contains(errs, "it follows here") || !strings.Contains(errs, "SIGABRT") {
		t.Errorf("a report whose directory is gone: %s", errs)
	}
}

// TestSymbolsOutput requires that symbols creates a missing directory and overwrites only files that it wrote
// itself.
func TestSymbolsOutput(t *testing.T) {
	lib, dir := omptest.RuntimeOf(t, 16).Lib, t.TempDir()
	missing := filepath.Join(dir, "debug")
	for range 2 {
		status, out, errs := e2e.Output(t, "symbols", lib, "-o", missing)
		if !strings.HasPrefix(out, filepath.Join(missing, ".build-id")) || status != cli.ExitOK {
			t.Errorf("a directory that is not there: exit status %d: %s%s", status, out, errs)
		}
	}
	written, err := filepath.Glob(filepath.Join(missing, ".build-id/*/*"))
	if err != nil || len(written) != 1 || !strings.HasSuffix(written[0], ".debug") {
		t.Fatalf("%q, %v: want one file, and nothing else of what was written on the way", written, err)
	}
	precious, link := filepath.Join(dir, "precious.debug"), filepath.Join(dir, "link.debug")
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{precious, written[0]} {
		if err := os.WriteFile(file, []byte("notes"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for to, of := range map[string]string{precious: precious, missing: written[0], link: precious} {
		if status, _, errs := e2e.Output(t, "symbols", lib, "-o", to); status != cli.ExitError || errs == "" {
			t.Errorf("%s, a file of somebody else: exit status %d: %s", to, status, errs)
		}
		if b, _ := os.ReadFile(of); string(b) != "notes" {
			t.Errorf("it has %q now", b)
		}
	}
	if status, _, errs := e2e.Output(t, "symbols", "--force", lib, "-o", precious); status != cli.ExitOK {
		t.Errorf("by force: exit status %d: %s", status, errs)
	}
}

// TestClosedStandardOutput starts the tool with its standard output closed or /dev/null. Go opens /dev/null in
// place of a closed one, so both are the same, and the file that -o names does not get its number.
func TestClosedStandardOutput(t *testing.T) {
	bin := e2e.BuildTool(t)
	core := filepath.Join(e2e.GoldenDir, "gnu-barrier", "core.zst")
	for _, to := range []string{">&-", ">/dev/null", "1<>/dev/null"} {
		file := filepath.Join(t.TempDir(), "report")
		for _, args := range [][]string{{"version"}, {"report", core}, {"report", core, "-o", file}, {"--help"}} {
			cmd := exec.Command("sh", append([]string{"-c", `exec "$@" ` + to, "sh", bin}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v %s: %v, %s", args, to, err, out)
			}
		}
		if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("core of ")) {
			t.Errorf("%s: the file begins with %.40q, %v", to, b, err)
		}
	}
}

// TestRunInterruptedWhileWritingCore ends run while it writes a core: the core is complete or missing. A SIGINT
// goes to the program and does not truncate the core.
func TestRunInterruptedWhileWritingCore(t *testing.T) {
	omptest.Program(t, "perl")
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGKILL} {
		dir := t.TempDir()
		core := filepath.Join(dir, "core")
		cmd := e2e.Process("run", "--core", core, "--report", filepath.Join(dir, "report"), "--",
			"sh", "-c", `ulimit -c 0; exec perl -e '$SIG{INT} = "IGNORE"; $x = "x" x (1 << 27); kill ABRT, $$'`)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		e2e.AwaitWriting(cmd.Process.Pid, core)
		if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		<-ended
		var got []string
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			got = append(got, e.Name())
		}
		switch names := strings.Join(got, " "); names {
		case "core report":
			if pic := e2e.Report(t, core); pic.Target.Signal != "SIGABRT" {
				t.Errorf("%v: a core of signal %q", s, pic.Target.Signal)
			}
		case "report":
			if s == unix.SIGINT {
				t.Errorf("%v: no core", s)
			}
		default:
			if fd, err := unix.Open(dir, unix.O_RDWR|unix.O_TMPFILE, 0o600); err == nil { // files need no name here
				unix.Close(fd)
				t.Errorf("%v: the directory has %q", s, names)
			}
		}
	}
}
