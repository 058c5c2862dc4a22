package unxz

import (
	"bytes"
	"crypto/rand"
	"errors"
	"hash/crc32"
	"io"
	"os/exec"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// content returns data that compresses into chunks of all kinds.
func content(t testing.TB) []byte {
	t.Helper()
	noise := make([]byte, 300_000)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	return bytes.Join([][]byte{bytes.Repeat([]byte("all work and no play "), 50_000), noise, make([]byte, 1<<20)}, nil)
}

// pack compresses with the xz tool.
func pack(t testing.TB, b []byte, flags ...string) []byte {
	t.Helper()
	omptest.Needs(t, "the xz tool")
	cmd := exec.Command(omptest.Program(t, "xz"), append(flags, "-c")...)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReader unpacks files of all kinds, and checks that their dictionary is charged meanwhile.
func TestReader(t *testing.T) {
	b := content(t)
	for _, c := range []struct {
		flags []string
		dict  uint64
	}{
		{[]string{"-6"}, 8 << 20}, {[]string{"-0", "--check=none"}, 256 << 10},
		{[]string{"-1", "--check=sha256", "--block-size=100000"}, 1 << 20},
		{[]string{"-9", "--check=crc32", "-T2"}, 64 << 20}, {[]string{"--lzma2=dict=96MiB"}, 96 << 20},
	} {
		packed := pack(t, b, c.flags...)
		l := budget.NewLedger(0)
		r, done, err := NewReader(l, bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, b) || l.HeldBytes() != c.dict {
			t.Errorf("%v: %d of %d bytes, %v; %d counted, want %d", c.flags, len(got), len(b), err, l.HeldBytes(),
				c.dict)
		}
		done()
		r, done, err = NewReader(budget.NewLedger(c.dict), bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); !errors.Is(err, budget.ErrMemory) || len(got) > 0 {
			t.Errorf("%v within too little: %d bytes, %v", c.flags, len(got), err)
		}
		if done(); l.HeldBytes() != 0 {
			t.Errorf("%v: %d bytes are held in the end", c.flags, l.HeldBytes())
		}
	}
}

// withDictionary changes the dictionary size in the first block.
func withDictionary(t testing.TB, packed []byte, property byte) []byte {
	t.Helper()
	b := bytes.Clone(packed)
	header := b[streamHeader : streamHeader+4*(int(b[streamHeader])+1)]
	at := bytes.IndexByte(header[1:], filterLZMA2) + 3
	header[at] = property
	sum := crc32.ChecksumIEEE(header[:len(header)-4])
	for i := range 4 {
		header[len(header)-4+i] = byte(sum >> (8 * i))
	}
	return b
}

// TestDictionary refuses a huge dictionary in a file of a few hundred bytes.
func TestDictionary(t *testing.T) {
	bomb := withDictionary(t, pack(t, make([]byte, 1<<20), "-6"), 40) // 4 GiB
	r, done, err := NewReader(budget.NewLedger(budget.DefaultMemory), bytes.NewReader(bomb))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, budget.ErrMemory) || n > 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
