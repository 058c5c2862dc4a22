package corefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// packedIn compresses bytes with each known method.
func packedIn(f testing.TB, b []byte) map[string][]byte {
	f.Helper()
	out := map[string][]byte{}
	for name, open := range map[string]func(io.Writer) (io.WriteCloser, error){
		"zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"lz4": func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
		"xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
		"gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	} {
		var buf bytes.Buffer
		w, err := open(&buf)
		if err != nil {
			f.Fatal(err)
		}
		_, err = w.Write(b)
		if err := errors.Join(err, w.Close()); err != nil {
			f.Fatal(err)
		}
		out[name] = buf.Bytes()
	}
	return out
}

// FuzzUnpack decompresses bytes with each method and checks that the output stays below the limit.
func FuzzUnpack(f *testing.F) {
	const limit = 1 << 20
	contents := [][]byte{
		[]byte("not a core"), make([]byte, limit/2), make([]byte, 4*limit), bytes.Repeat([]byte("core "), 50_000),
	}
	for _, b := range contents {
		for _, p := range packedIn(f, b) {
			f.Add(p)
			f.Add(p[:len(p)/2])
		}
	}
	name := filepath.Join(f.TempDir(), "packed")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		packed, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		open := unpackerOf(firstBytes(packed))
		if open == nil {
			return
		}
		out, err := unpackFile(packed, open, Options{MaxUnpacked: limit})
		if err != nil {
			return
		}
		defer out.Close()
		if info, err := out.Stat(); err != nil || info.Size() > limit || info.Size() == 0 {
			t.Fatalf("%v, %v", info, err)
		}
	})
}
