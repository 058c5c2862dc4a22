package symbolize

import (
	"encoding/hex"
	"path/filepath"
	"testing"
)

// TestOneFile names code from a file alone, from its debug file if the file is stripped or missing,
// and not from a file of another build.
func TestOneFile(t *testing.T) {
	full := compileProgram(t)
	digits := buildID(t, full)
	id, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	pc := addressOf(t, full, "c_name")
	want, err := openSymbolizer(t, full).Code(pc)
	if err != nil || want[0].Line == 0 {
		t.Fatalf("%+v, %v", want, err)
	}
	made, debug := stripProgram(t, full)
	dirs := t.TempDir()
	copyFile(t, debug, filepath.Join(dirs, ".build-id", digits[:2], digits[2:]+".debug"))
	other := append([]byte{id[0] ^ 1}, id[1:]...)
	for name, c := range map[string]struct {
		path string
		id   []byte
		dirs string
		line bool
	}{
		"itself":        {full, id, t.TempDir(), true},
		"stripped":      {made, id, dirs, true},
		"not there":     {"/nowhere/small", id, dirs, true},
		"another build": {full, other, dirs, false},
	} {
		f, err := OpenFile(c.path, c.id, Options{DebugDirs: []string{c.dirs}})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := f.Code(pc - bias)
		if has := len(got) > 0 && got[0].Line == want[0].Line && got[0].File == want[0].File; has != c.line {
			t.Errorf("%s: %+v, want line %d: %v", name, got, want[0].Line, c.line)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenFile(full, nil, Options{}); err == nil {
		t.Error("a file without a build ID is taken for any")
	}
}

// TestNoDebug finds functions by the symbols of the file, and no lines.
func TestNoDebug(t *testing.T) {
	full := compileProgram(t)
	s := openWith(t, Options{NoDebug: true}, loadModule(t, full, bias))
	got, err := s.Code(addressOf(t, full, "c_name"))
	if err != nil || len(got) != 1 || got[0].Linkage != "c_name" || got[0].Line != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
