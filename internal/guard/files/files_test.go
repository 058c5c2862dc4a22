package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ways are the ways to open: by the kernel's own check, and without.
var ways = map[string]bool{"openat2": false, "by parts": true}

// tree makes two directories; each file contains its own path.
func tree(t *testing.T) (in, out string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out = top+"/in", top+"/out"
	for _, name := range []string{in + "/file", in + "/deep/file", out + "/file", top + "/other/file"} {
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err := errors.Join(err, os.WriteFile(name, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"/beside": "deep/file", "/whole": in + "/file", "/round": "round", "/other": top + "/other/file",
		"/out": out + "/file", "/up": "../out/file", "/dir": out, "/deep/up": "../../out",
		"/magic": "/proc/self/root" + out + "/file",
		"/etc":   "/etc/passwd", "/null": "/dev/null", "/gone": out + "/none",
	} {
		if err := os.Symlink(to, in+link); err != nil {
			t.Fatal(err)
		}
	}
	return in, out
}

// content returns the content of a file.
func content(o *Opener, name string) (string, error) {
	f, err := o.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// TestOpen opens names of all kinds; files outside of the directories count as missing.
func TestOpen(t *testing.T) {
	in, out := tree(t)
	top := filepath.Dir(in)
	held, err := os.Open(out + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), held.Fd()), in+"/held"); err != nil {
		t.Fatal(err)
	}
	for way, without := range ways {
		o := &Opener{Dirs: []string{in, top + "/none"}, Also: []string{top + "/other"}, NoOpenat2: without}
		for name, want := range map[string]string{
			"/file": in + "/file", "/deep/file": in + "/deep/file",
			"/./deep//../file": in + "/file", "/beside": in + "/deep/file",
			"/whole": in + "/file", "/other": top + "/other/file", "/../other/file": top + "/other/file",
		} {
			if got, err := content(o, in+name); err != nil || got != want {
				t.Errorf("%s, %s: %q, %v", way, name, got, err)
			}
		}
		names := []string{
			"/etc/passwd", "file", "", "/", "/proc/self/root" + in + "/file", "/proc/self/cwd/files_test.go",
			fmt.Sprintf("/proc/self/fd/%d", held.Fd()),
		}
		for _, name := range []string{
			"/none", "/round", "/out", "/up", "/dir/file", "/dir/none", "/deep/up/file", "/magic", "/etc", "/null",
			"/gone", "/held", "/../out/file", "/file/none", "/../inx",
		} {
			names = append(names, in+name)
		}
		for _, name := range names {
			got, err := content(o, name)
			if !errors.Is(err, fs.ErrNotExist) || err.Error() != missing(filepath.Clean(name)).Error() {
				t.Errorf("%s, %s: %q, %v, want that it is not there", way, name, got, err)
			}
		}
	}
	if got, err := content(&Opener{}, in+"/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is allowed: %q, %v", got, err)
	}
	for _, o := range []*Opener{nil, {Dirs: []string{"/"}}} {
		if got, err := content(o, in+"/out"); err != nil || got != out+"/file" {
			t.Errorf("all is allowed: %q, %v", got, err)
		}
	}
}

// TestOddFiles opens files that are not regular: it must fail without blocking.
func TestOddFiles(t *testing.T) {
	in, _ := tree(t)
	l, err := net.Listen("unix", in+"/socket")
	if err := errors.Join(err, unix.Mkfifo(in+"/pipe", 0o600)); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	odd := []string{"/pipe", "/socket", "/deep", ""}
	if err := unix.Mknod(in+"/device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err == nil { // /dev/zero
		odd = append(odd, "/device")
	} else if os.Getuid() == 0 {
		t.Logf("root may make no devices here: %v", err)
	}
	openers := []*Opener{nil}
	for _, without := range ways {
		openers = append(openers, &Opener{Dirs: []string{in}, NoOpenat2: without})
	}
	for i, o := range openers {
		for _, name := range odd {
			_, err := o.Open(in + name)
			if !errors.Is(err, ErrNotRegular) && !(name == "/socket" && errors.Is(err, unix.ENXIO)) {
				t.Errorf("%d, %s: %v", i, name, err)
			}
		}
	}
}

// TestRace replaces a file, and a parent directory, by links to other files while they are opened: outside
// files must never be read.
func TestRace(t *testing.T) {
	for way, without := range ways {
		t.Run(way, func(t *testing.T) {
			in, out := tree(t)
			o := &Opener{Dirs: []string{in}, NoOpenat2: without}
			links := map[string]string{"/a": out + "/file", "/b": out, "/good": "file", "/well": in + "/deep"}
			for name, to := range links {
				if err := os.Symlink(to, in+name); err != nil {
					t.Fatal(err)
				}
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					for _, pair := range [][2]string{{"/good", "/a"}, {"/well", "/b"}} {
						one, other := in+pair[0], in+pair[1]
						err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
						if err != nil {
							t.Error(err)
						}
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			}()
			opened := 0
			for range 1000 {
				for _, name := range []string{"/a", "/b/file", "/good", "/well/file"} {
					got, err := content(o, in+name)
					switch {
					case err == nil && !strings.HasPrefix(got, in):
						t.Fatalf("%s: %q was read", name, got)
					case err == nil:
						opened++
					case !errors.Is(err, fs.ErrNotExist):
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
			close(stop)
			<-stopped
			if opened == 0 {
				t.Error("nothing was ever opened")
			}
		})
	}
}
