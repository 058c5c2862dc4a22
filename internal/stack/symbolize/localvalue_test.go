package symbolize

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/image/binread"
)

// TestLocationLists finds expressions in lists of both kinds, but not in damaged lists.
func TestLocationLists(t *testing.T) {
	var old []byte
	for _, pair := range [][2]uint64{{^uint64(0), 0x1000}, {0x10, 0x20}, {0x20, 0x30}} {
		old = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(old, pair[0]), pair[1])
		if pair[0] != ^uint64(0) {
			old = append(old, 2, 0, 0x91, byte(pair[0]))
		}
	}
	old = append(old, make([]byte, 16)...)
	if got := findInOldList(old, 0, 0x1025); !bytes.Equal(got, []byte{0x91, 0x20}) {
		t.Errorf("expression % x, want 91 20", got)
	}
	list := []byte{6, 0, 0x10, 0, 0, 0, 0, 0, 0, 4, 0x10, 0x20, 1, 0x50, 1, 0, 3, 0, 8, 2, 0x31, 0x9f, 0}
	vs := &variables{addrs: []byte{0, 0x20, 0, 0, 0, 0, 0, 0}}
	for pc, want := range map[uint64][]byte{0x1018: {0x50}, 0x2007: {0x31, 0x9f}, 0x2008: nil, 0x1008: nil} {
		l := locList{Cursor: binread.Cursor{Data: list}, vs: vs}
		if got := l.findExpression(pc); !bytes.Equal(got, want) {
			t.Errorf("expression at %#x: % x, want % x", pc, got, want)
		}
	}
	random := rand.New(rand.NewSource(1))
	for range 20000 {
		b := make([]byte, random.Intn(64))
		random.Read(b)
		l := locList{Cursor: binread.Cursor{Data: b}, vs: vs, base: random.Uint64()}
		l.findExpression(0x1018)
		findInOldList(b, 0, 0x1018)
		(&locals{frame: Activation{Register: func(n int) (uint64, bool) { return uint64(n), n != 3 }},
			base: b[:min(1, len(b))]}).evaluate(b)
	}
}

// TestEvaluate checks values of expressions that compilers write for counters.
func TestEvaluate(t *testing.T) {
	l := locals{frame: Activation{CFA: 0x7000, Register: func(n int) (uint64, bool) { return uint64(100 * n), n != 9 }},
		base: []byte{opCallFrameCFA}}
	for _, c := range []struct {
		loc   []byte
		want  uint64
		value bool
		ok    bool
	}{
		{loc: []byte{0x53}, want: 300, value: true, ok: true},
		{loc: []byte{0x91, 0x60}, want: 0x7000 - 32, ok: true},
		{loc: []byte{0x7c, 1, 0x9f}, want: 1201, value: true, ok: true},
		{loc: []byte{0x11, 0x7f, 0x9f}, want: ^uint64(0), value: true, ok: true},
		{loc: []byte{0x72, 0, 0x33, 0x1e, 0x23, 5, 0x9f}, want: 605, value: true, ok: true},
		{loc: []byte{0x79, 0}}, {loc: []byte{0x1c}}, {loc: []byte{0xf3, 1}}, {loc: nil}, {loc: []byte{0x23, 1}},
	} {
		v, value, ok := l.evaluate(c.loc)
		if ok != c.ok || ok && (v != c.want || value != c.value) {
			t.Errorf("% x is %d, %v, %v, want %d, %v, %v", c.loc, v, value, ok, c.want, c.value, c.ok)
		}
	}
}
