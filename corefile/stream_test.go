package corefile

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// goldenBytes returns a golden core, decompressed and compressed.
func goldenBytes(t *testing.T) (plain, packed []byte) {
	t.Helper()
	packed, err := os.ReadFile("../testdata/golden/gnu-barrier/core.zst")
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if plain, err = d.DecodeAll(packed, nil); err != nil {
		t.Fatal(err)
	}
	return plain, packed
}

// pipeFrom returns the end of a pipe that delivers the content of r; wrote gets the error of the
// writer.
func pipeFrom(t *testing.T, r io.Reader) (end *os.File, wrote <-chan error) {
	t.Helper()
	end, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end.Close() })
	result := make(chan error, 1)
	go func() {
		_, err := io.Copy(in, r)
		in.Close()
		result <- err
	}()
	return end, result
}

// TestStream opens a core from a pipe: plain, compressed and cut.
func TestStream(t *testing.T) {
	plain, packed := goldenBytes(t)
	for name, b := range map[string][]byte{
		"plain": plain, "zst": packed, "xz": pack(t, ".xz", plain), "gz": pack(t, ".gz", plain),
		"lz4": pack(t, ".lz4", plain),
	} {
		end, wrote := pipeFrom(t, strings.NewReader(string(b)))
		c, err := OpenStream(end, "standard input", Options{Canceled: t.Context().Err})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		omptest.Equal(t, name+": the writer", <-wrote, nil)
		checkTemporary(t, c.file, int64(len(plain)))
		omptest.Equal(t, name+": truncated", c.Info().Truncated, false)
		c.Close()
	}
	end, _ := pipeFrom(t, strings.NewReader(string(plain[:len(plain)*9/10])))
	c, err := OpenStream(end, "standard input", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	omptest.Equal(t, "a cut stream is truncated", c.Info().Truncated, true)
}

// TestStreamFile opens a core in a regular file with any file position; a plain core is not copied.
func TestStreamFile(t *testing.T) {
	plain, packed := goldenBytes(t)
	for name, b := range map[string][]byte{"core": plain, "core.zst": packed} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Seek(7, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		c, err := OpenStream(f, "standard input", Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info, err := c.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		its, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		omptest.Equal(t, name+": it is read where it is", os.SameFile(info, its), name == "core")
		omptest.Equal(t, name+": size", info.Size(), int64(len(plain)))
		c.Close()
		if _, err := f.Stat(); err != nil { // it must stay open for the caller
			t.Errorf("%s: the stream is closed: %v", name, err)
		}
	}
}

// TestStreamRefused checks that input that is not a core is refused before its rest is read, and so
// are a core over the limit and a canceled stream.
func TestStreamRefused(t *testing.T) {
	plain, packed := goldenBytes(t)
	for _, c := range []struct {
		name   string
		stream io.Reader
		limit  int64
		err    error
		text   string
	}{
		{"an endless text", endless("all work and no play\n"), 0, ErrNotCore,
			"standard input: not a core: it is a text file"},
		{"zeros", zeros{}, 0, ErrNotCore, "it is not an ELF file"},
		{"a script", endless("#!/bin/sh\n"), 0, ErrScript, "it is a script"},
		{"nothing", strings.NewReader(""), 0, ErrNotCore, "it is empty"},
		{"a core and more", io.MultiReader(strings.NewReader(string(plain)), endless("more")), 64 << 20, ErrTooBig,
			"the core is too big: over 67108864 bytes"},
		{"a core that is too big", strings.NewReader(string(packed)), int64(len(plain) - 1), ErrTooBig, "too big"},
	} {
		end, wrote := pipeFrom(t, c.stream)
		core, err := OpenStream(end, "standard input", Options{MaxUnpacked: c.limit})
		if core != nil || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.err, c.text)
		}
		end.Close()
		<-wrote // it ends
	}
	silent, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	_, err = OpenStream(silent, "standard input", Options{Canceled: func() error {
		if asked++; asked == 2 { // it has waited once
			cancel()
		}
		return ctx.Err()
	}})
	omptest.Equal(t, "a silent stream was canceled", errors.Is(err, context.Canceled), true)
}

// endless is a stream that repeats a text.
type endless string

// Read implements io.Reader.
func (e endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// TestProgramKinds checks that executables (static and position-independent too) and scripts are
// called programs, and libraries are not.
func TestProgramKinds(t *testing.T) {
	omptest.Needs(t, "gcc")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	compile := func(arguments ...string) {
		if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("gcc %v: %v\n%s", arguments, err, out)
		}
	}
	source := write("m.c", "int main(void) { return 0; }\n")
	for name, flags := range map[string][]string{
		"pie": {"-pie"}, "no-pie": {"-no-pie"}, "static": {"-static"}, "static-pie": {"-static-pie"},
	} {
		path := filepath.Join(dir, name)
		compile(append(flags, "-o", path, source)...)
		if _, err := Open(path, Options{}); !errors.Is(err, ErrNotCore) || !errors.Is(err, ErrExecutable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(write("run.sh", "#!/bin/sh\nexit\n"), Options{}); !errors.Is(err, ErrScript) {
		t.Errorf("a script: %v", err)
	}
	library := filepath.Join(dir, "m.so")
	compile("-shared", "-fPIC", "-o", library, source)
	if _, err := Open(library, Options{}); !errors.Is(err, ErrNotCore) || errors.Is(err, ErrExecutable) {
		t.Errorf("a library: %v", err)
	}
}
