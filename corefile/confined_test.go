package corefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// TestConfined opens a core with tables that name a program elsewhere, and one with tables changed to name
// other files. These files are never opened, whether they exist or not.
func TestConfined(t *testing.T) {
	p := runPlain(t, "abort")
	dir := t.TempDir()
	bytes, err := os.ReadFile(p.core)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(p.exe), "lain2") // as long as the program's own
	writeFile(t, secret, bytes[:4096])
	main := func(name, exe string, allowed ...string) (string, error) {
		core := filepath.Join(dir, filepath.Base(exe))
		changed := strings.ReplaceAll(string(bytes), p.exe, exe)
		writeFile(t, core, []byte(changed))
		var opened []string
		o := &files.Opener{Dirs: append(allowed, dir), Also: files.System()}
		c, err := Open(core, Options{Open: func(name string) (*os.File, error) {
			f, err := o.Open(name)
			if err == nil {
				opened = append(opened, name)
			}
			return f, err
		}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer c.Close()
		if slices.Contains(opened, secret) || slices.Contains(opened, "/etc/shadow") {
			t.Errorf("%s: opened %q", name, opened)
		}
		list, _ := c.Modules()
		if i := slices.IndexFunc(list, isLibc); i < 1 || list[i].File == "" {
			t.Errorf("%s: the system's own C library has no file", name)
		}
		return list[0].File, list[0].Err
	}
	if file, err := main("allowed", p.exe, filepath.Dir(p.exe)); file != p.exe || err != nil {
		t.Errorf("where it is allowed: %q, %v", file, err)
	}
	gone := secret[:len(secret)-1] + "3"
	there, errThere := main("elsewhere", secret)
	none, errNone := main("nowhere", gone)
	if there != "" || none != "" || !errors.Is(errThere, modules.ErrNoFile) ||
		strings.ReplaceAll(errThere.Error(), secret, gone) != errNone.Error() {
		t.Errorf("a file that is there: %q, %v; that is not: %q, %v", there, errThere, none, errNone)
	}
	if file, err := main("as it is", p.exe); file != "" || !strings.Contains(err.Error(), "--allow-dir") {
		t.Errorf("the program is elsewhere: %q, %v", file, err)
	}
	here := &files.Opener{Dirs: []string{dir}}
	if _, err := Open(p.core, Options{Open: here.Open}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the core is elsewhere: %v", err)
	}
	changed := filepath.Join(dir, filepath.Base(p.exe))
	if _, err := Open(changed, Options{Exe: p.exe, Open: here.Open}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the executable is elsewhere: %v", err)
	}
}

// isLibc reports whether m is the C library.
func isLibc(m *callbacks.Module) bool { return strings.Contains(m.Path, "libc.so") }

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
