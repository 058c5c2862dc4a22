package live

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
)

// TestConfined opens a process that names a suitable file other than the one that it has mapped.
// Only its mapped files and the system's own files are opened.
func TestConfined(t *testing.T) {
	exe := compile(t, "misnamed.c")
	libcOf := func(p *Process) *callbacks.Module {
		list, _ := p.Modules()
		i := slices.IndexFunc(list, func(m *callbacks.Module) bool { return strings.Contains(m.Path, "libc") })
		if i < 0 {
			t.Fatal("the process has no C library")
		}
		return list[i]
	}
	system := libcOf(openProcess(t, run(t, nil, exe).pid, Options{})).File
	b, err := os.ReadFile(system)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "libc.so.7")
	if err := os.WriteFile(secret, b, 0o600); err != nil {
		t.Fatal(err)
	}
	pid := run(t, nil, exe, secret).pid
	if m := libcOf(openProcess(t, pid, Options{})); m.Path != secret || m.File != secret {
		t.Errorf("without bounds: %q, %q", m.Path, m.File)
	}
	for name, o := range map[string]*files.Opener{"nothing": {}, "the system": {Also: files.System()}} {
		p := openProcess(t, pid, Options{Open: o.Open})
		if m := libcOf(p); m.Path != secret || m.File == "" || m.File == secret {
			t.Errorf("%s: %q, %q, %v", name, m.Path, m.File, m.Err)
		}
		if list, _ := p.Modules(); list[0].File != exe {
			t.Errorf("%s: the executable, which is mapped: %q, %v", name, list[0].File, list[0].Err)
		}
	}
}
