package corefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// packers maps suffixes to functions that compress as the tools with these suffixes do.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	".lz4": func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
	".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
}

func pack(t testing.TB, suffix string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := packers[suffix](&out)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCompressed opens compressed cores with and without the suffix of their compression.
func TestCompressed(t *testing.T) {
	p := runPlain(t, "abort")
	b, err := os.ReadFile(p.core)
	if err != nil {
		t.Fatal(err)
	}
	for suffix := range packers {
		t.Run(suffix, func(t *testing.T) {
			packed := pack(t, suffix, b)
			for _, name := range []string{"core" + suffix, "core"} {
				name = filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(name, packed, 0o644); err != nil {
					t.Fatal(err)
				}
				c := open(t, name, Options{})
				checkSymbols(t, c, p)
				checkThreads(t, c, p)
				checkTemporary(t, c.file, int64(len(b)))
			}
			cut := filepath.Join(t.TempDir(), "core"+suffix)
			if err := os.WriteFile(cut, packed[:len(packed)*9/10], 0o644); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(cut, Options{}); err == nil {
				defer c.Close()
				if !c.Info().Truncated {
					t.Error("a stream that is cut gives a core that is not truncated")
				}
			} else if !errors.Is(err, ErrTruncated) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a stream that is cut: %v", err)
			}
			big := filepath.Join(t.TempDir(), "core"+suffix)
			if err := os.WriteFile(big, packed, 0o644); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(big, Options{MaxUnpacked: int64(len(b)) - 1}); c != nil || !errors.Is(err, ErrTooBig) {
				t.Errorf("a core over the limit: %v, want ErrTooBig", err)
			}
		})
	}
}

// checkTemporary checks that the decompressed file has its size, holes and no
// name.
func checkTemporary(t *testing.T, f *os.File, size int64) {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Size != size || st.Nlink != 0 {
		t.Errorf("temporary file: %d bytes, %d names; want %d, none", st.Size, st.Nlink, size)
	}
}

func TestHolesAndProgress(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "sparse")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 256 << 20
	stream := io.MultiReader(bytes.NewReader([]byte("begin")), io.LimitReader(zeros{}, size),
		bytes.NewReader([]byte("end")))
	if err := copySparse(f, stream, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	info, _ := f.Stat()
	if st := info.Sys().(*syscall.Stat_t); st.Size != size+8 || st.Blocks*512 > 1<<20 {
		t.Errorf("%d bytes in %d blocks", st.Size, st.Blocks)
	}
	end := make([]byte, 4)
	if _, err := f.ReadAt(end, size+4); err != nil || string(end) != "\x00end" {
		t.Errorf("the end is %q, %v", end, err)
	}
	if err := copySparse(f, iotest.ErrReader(os.ErrPermission), nil, Options{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a stream that fails: %v", err)
	}
}

// zeros is an endless stream of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestPackedBombs decompresses files that are made to fill a disk, and checks the error. Smaller
// files of the same kind are accepted.
func TestPackedBombs(t *testing.T) {
	text := bytes.Repeat([]byte("ompd"), unpackBlock/4)
	for _, tt := range []struct {
		name   string
		packed int64 // bytes of the file that were read
		blocks int64 // size when decompressed, and its part of zeros
		zeros  int64
		free   int64
		want   error
	}{
		{"as programs' memory", 1 << 30, 100 << 30 / unpackBlock, 60 << 30 / unpackBlock, math.MaxInt64, nil},
		{"a small one of much text", 1 << 10, 1 << 30 / unpackBlock, 0, math.MaxInt64, nil},
		{"zeros of a large array", 2 << 20, 16 << 30 / unpackBlock, 16 << 30 / unpackBlock, math.MaxInt64, nil},
		{"text without end", 243 << 10, 6 << 30 / unpackBlock, 0, math.MaxInt64, ErrTooBig},
		{"zeros without end", 64 << 10, 1 << 40 / unpackBlock, 1 << 40 / unpackBlock, math.MaxInt64, ErrTooBig},
		{"a full disk", 1 << 30, 2 << 30 / unpackBlock, 0, 1 << 30, errNoSpace},
	} {
		u := unpacking{packed: new(counter), free: tt.free}
		u.packed.n.Store(tt.packed)
		var err error
		for i := int64(0); i < tt.blocks && err == nil; i++ {
			err = u.add(int64(len(text)), i < tt.zeros)
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v after %d bytes, want %v", tt.name, err, u.size, tt.want)
		}
	}
}

// TestUnpackWork decompresses an endless stream with a limit on CPU time.
func TestUnpackWork(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := copySparse(f, zeros{}, new(counter), Options{Work: time.Millisecond}); !errors.Is(err, budget.ErrSpent) {
		t.Errorf("%v", err)
	}
}

// TestNoTemporary decompresses without a directory for temporary files, and checks that the error
// names this cause, not a missing core.
func TestNoTemporary(t *testing.T) {
	name := filepath.Join(t.TempDir(), "core.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte("\x7fELF"))
	if err := errors.Join(z.Close(), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nothing"))
	if _, err := Open(name, Options{}); err == nil || !strings.Contains(err.Error(), "TMPDIR") ||
		errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
