package corefile

import (
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashReport returns a crash report as apport writes it: the compressed core in lines of base64, each by itself.
func crashReport(packed []byte, line int) string {
	var b strings.Builder
	b.WriteString("ProblemType: Crash\nArchitecture: amd64\nExecutablePath: /usr/bin/plain\nProcMaps:\n " +
		"00400000-00401000 r-xp 00000000 08:01 1 /usr/bin/plain\n CoreDump: base64\nCoreDump: base64\n")
	for len(packed) > 0 {
		n := min(line, len(packed))
		b.WriteString(" " + base64.StdEncoding.EncodeToString(packed[:n]) + "\n")
		packed = packed[n:]
	}
	b.WriteString("Uname: Linux\n")
	return b.String()
}

// TestApport opens the core in crash reports of apport, with lines shorter and longer than the buffers.
func TestApport(t *testing.T) {
	p := runPlain(t, "abort")
	b, err := os.ReadFile(p.core)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".gz", ".zst", ""} {
		packed := b
		if suffix != "" {
			packed = pack(t, suffix, b)
		}
		for _, line := range []int{1000, 1<<20 + 1} {
			name := filepath.Join(t.TempDir(), "_usr_bin_plain.0.crash")
			if err := os.WriteFile(name, []byte(crashReport(packed, line)), 0o600); err != nil {
				t.Fatal(err)
			}
			c := open(t, name, Options{})
			checkSymbols(t, c, p)
			checkThreads(t, c, p)
			checkTemporary(t, c.file, int64(len(b)))
			if !Compressed(name) {
				t.Errorf("%s is not to be decompressed", name)
			}
		}
	}
}

// TestApportRefused opens crash reports without a readable core.
func TestApportRefused(t *testing.T) {
	packed := pack(t, ".gz", []byte(strings.Repeat("no core", 100)))
	whole := crashReport(packed, 1000)
	for name, c := range map[string]struct {
		text string
		want string
		is   error // nil: any
	}{
		"no field":    {"ProblemType: Crash\nArchitecture: amd64\n", "has no field CoreDump", ErrNotCore},
		"empty field": {crashReport(nil, 1), "is no core", ErrNotCore},
		"no core":     {whole, "it is a text file", ErrNotCore},
		"other data":  {crashReport([]byte("some text of no kind"), 10), "is no core", ErrNotCore},
		"nested":      {crashReport([]byte(whole), 1000), "is a crash report", nil},
		"no base64":   {strings.Replace(whole, "\n H4", "\n !4", 1), "illegal base64", nil},
		"cut group": {strings.Replace(crashReport(nil, 1), "\nUname", "\n QUJ\nUname", 1), "unexpected EOF",
			io.ErrUnexpectedEOF},
		"text only": {"ProblemType: Crash\n" + strings.Repeat("x", 1<<20), "has no field CoreDump", ErrNotCore},
	} {
		file := filepath.Join(t.TempDir(), "report.crash")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		core, err := Open(file, Options{})
		if core != nil || err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
