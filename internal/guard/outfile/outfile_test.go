package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// ours accepts files that start with "ours".
func ours(f *os.File) bool {
	b := make([]byte, 4)
	n, _ := f.Read(b)
	return string(b[:n]) == "ours"
}

func write(t *testing.T, name, text string, o Options) error {
	t.Helper()
	f, err := Create(name, o)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Commit()
}

// TestReplace checks which files are replaced, and that refused ones stay unchanged.
func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, before string
		o            Options
		want         error
	}{
		{"nothing there", "-", Options{Mode: 0o600}, nil},
		{"empty", "", Options{Mode: 0o600}, nil},
		{"ours", "ours, old", Options{Mode: 0o600, Ours: ours}, nil},
		{"foreign", "precious", Options{Mode: 0o600, Ours: ours}, ErrForeign},
		{"foreign, none is ours", "ours, old", Options{Mode: 0o600}, ErrExists},
		{"foreign, by force", "precious", Options{Mode: 0o600, Ours: ours, Force: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "f")
			if c.before != "-" {
				if err := os.WriteFile(name, []byte(c.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := Check(name, c.o); !errors.Is(err, c.want) {
				t.Errorf("Check: %v, want %v", err, c.want)
			}
			if err := write(t, name, "new", c.o); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			want := "new"
			if c.want != nil {
				want = c.before
			}
			if got := content(t, name); got != want {
				t.Errorf("the file has %q, want %q", got, want)
			}
			if info, err := os.Stat(name); c.want == nil && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if got := names(t, dir); got != "f" {
				t.Errorf("the directory has %s", got)
			}
		})
	}
}

// TestNoFile refuses links, directories and pipes, even with force.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	err := errors.Join(os.WriteFile(target, []byte("ours"), 0o600), os.Symlink(target, filepath.Join(dir, "link")),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700), unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dir", "pipe"} {
		if err := write(t, filepath.Join(dir, name), "x",
			Options{Mode: 0o600, Ours: ours, Force: true}); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := content(t, target); got != "ours" {
		t.Errorf("through the link: %q", got)
	}
}

// TestOldStays checks that the old file stays until the new one is complete, and that a discarded file leaves
// no other.
func TestOldStays(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("ours, old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(name, Options{Mode: 0o600, Ours: ours})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "ours, old" {
		t.Errorf("while it is written: %q", got)
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name) + " in " + names(t, dir); got != "ours, old in f" {
		t.Errorf("given up: %s", got)
	}
}

// TestRace does not replace a file that appeared meanwhile.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	f, err := Create(name, Options{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want that it exists", err)
	}
	if got := content(t, name) + " in " + names(t, dir); got != "precious in f" {
		t.Errorf("%s", got)
	}
}

// TestUnwritable checks the immediate error for a missing directory.
func TestUnwritable(t *testing.T) {
	name := filepath.Join(t.TempDir(), "no", "f")
	if err := Check(name, Options{Mode: 0o600}); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), name+": ") {
		t.Errorf("%v", err)
	}
}

// TestMain is also a program that writes a file and waits for its end.
func TestMain(m *testing.M) {
	if name := os.Getenv("OUTFILE_TEST"); name != "" {
		if os.Getenv("OUTFILE_FULL") != "" {
			writeFull(name)
		}
		f, err := Create(name, Options{Mode: 0o600, Force: true})
		if err == nil {
			_, err = f.WriteString("half")
		}
		fmt.Println("written:", err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestKilled checks that a killed writer leaves no incomplete file, and keeps the old one.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if f := createNameless(name, 0o600); f == nil {
		t.Skip("the file system knows no files without a name")
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ before, want string }{{"", ""}, {"precious", "f"}} {
		if c.before != "" {
			if err := os.WriteFile(name, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL} {
			if said := kill(t, name, s); said != "written: <nil>\n" {
				t.Fatal(said)
			}
			if got := names(t, dir); got != c.want {
				t.Errorf("after %v, the directory has %q, want %q", s, got, c.want)
			}
		}
	}
	if got := content(t, name); got != "precious" {
		t.Errorf("the file has %q", got)
	}
}

// kill sends a signal to a process that has written half of a file, and returns its output.
func kill(t *testing.T, name string, s os.Signal) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OUTFILE_TEST="+name)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	said, err := bufio.NewReader(stdout).ReadString('\n')
	if err := errors.Join(err, cmd.Process.Signal(s)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("it was not killed by %v: %v", s, err)
	}
	return said
}

// TestBeside writes a file under a temporary name, as on a file system without nameless files: it exists once,
// and replaces only what it may.
func TestBeside(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace bool
		want    string
	}{{"new", false, "new"}, {"old", true, "new"}, {"old", false, "before"}} {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if c.name == "old" {
			if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := createBeside(name, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("new")
		err = errors.Join(err, (&File{f, name, f.Name(), c.replace}).Commit())
		if got := content(t, name) + " in " + names(t, dir); got != c.want+" in f" ||
			(err == nil) != (c.want == "new") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// fullSize is the maximal file size in the test without space.
const fullSize = 4096

// writeFull writes a file without space, and prints the result.
func writeFull(name string) {
	err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: fullSize, Max: fullSize})
	f, err1 := Create(name, Options{Mode: 0o600, Force: true})
	if err := errors.Join(err, err1); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = f.Write(make([]byte, 2*fullSize))
	fmt.Println(errors.Is(err, unix.EFBIG), f.Discard())
	os.Exit(0)
}

// TestNoRoom writes a file without space: the error is returned, the old file stays, and no other is left.
func TestNoRoom(t *testing.T) {
	for before, want := range map[string]string{"": "", "precious": "f"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if before != "" {
			if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "OUTFILE_TEST="+name, "OUTFILE_FULL=1")
		said, err := cmd.Output()
		if err != nil || string(said) != "true <nil>\n" {
			t.Errorf("%v: %q", err, said)
		}
		if got := names(t, dir); got != want {
			t.Errorf("the directory has %q, want %q", got, want)
		}
		if before != "" && content(t, name) != before {
			t.Errorf("the file has %q", content(t, name))
		}
	}
}
