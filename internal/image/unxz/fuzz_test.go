package unxz

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// FuzzReader unpacks bytes: the result must be the decoder's own, except for dictionaries that are too large,
// and the ledger must balance.
func FuzzReader(f *testing.F) {
	const limit, most = 16 << 20, 1 << 20
	for _, content := range [][]byte{nil, []byte("short"), bytes.Repeat([]byte("longer "), 20_000)} {
		var packed bytes.Buffer
		w, err := xz.NewWriter(&packed)
		if err != nil {
			f.Fatal(err)
		}
		_, err = w.Write(content)
		if err := errors.Join(err, w.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(packed.Bytes())
		if len(content) > 0 {
			f.Add(withDictionary(f, packed.Bytes(), 40))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		l := budget.NewLedger(limit)
		r, done, err := NewReader(l, bytes.NewReader(packed))
		if err != nil {
			return
		}
		defer done()
		got, err := io.ReadAll(io.LimitReader(r, most))
		if l.HeldBytes() > limit {
			t.Fatalf("%d bytes are counted", l.HeldBytes())
		}
		if errors.Is(err, budget.ErrMemory) {
			return
		}
		plain, errPlain := xz.ReaderConfig{SingleStream: true}.NewReader(bytes.NewReader(packed))
		if errPlain != nil {
			t.Fatal(errPlain)
		}
		want, errPlain := io.ReadAll(io.LimitReader(plain, most))
		if (err == nil) != (errPlain == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v; the decoder alone reads %d, %v", len(got), err, len(want), errPlain)
		}
	})
}
