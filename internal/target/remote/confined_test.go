package remote

import (
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
)

// TestConfined lends a program with files outside the allowed directories: those count as missing, the system's
// own do not.
func TestConfined(t *testing.T) {
	r, c := dump(t, "nested", 16)
	for name, allowed := range map[string][]string{"outside": nil, "inside": {filepath.Dir(r.Exe)}} {
		o := &files.Opener{Dirs: allowed, Also: files.System()}
		for _, exe := range []string{"", r.Exe} {
			tg, err := New(hello(c, withRegisters), &debugger{Target: c}, Options{Exe: exe, Open: o.Open})
			if err != nil {
				t.Fatal(err)
			}
			list, _ := tg.InContext(t.Context()).(callbacks.ModuleLister).Modules()
			if len(list) == 0 {
				t.Fatalf("%s: no modules", name)
			}
			for _, m := range list {
				system := filepath.Base(m.Path) == "libc.so.6"
				if want := system || m.Main && name == "inside"; want != (m.File != "") && (system || m.Main) {
					t.Errorf("%s, --exe %q: %s has the file %q, %v", name, exe, m.Path, m.File, m.Err)
				}
			}
			if err := tg.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
