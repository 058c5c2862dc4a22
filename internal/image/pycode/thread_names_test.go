package pycode

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestSipHash checks the hash on the example of the paper on SipHash, and on hashes that CPython 3.11 has with
// PYTHONHASHSEED=0.
func TestSipHash(t *testing.T) {
	var b [15]byte
	for i := range b {
		b[i] = byte(i)
	}
	if got := sipHash(0x0706050403020100, 0x0f0e0d0c0b0a0908, b[:], 2); got != 0xa129ca6149be45e5 {
		t.Errorf("SipHash-2-4: %#x", got)
	}
	for text, want := range map[string]uint64{"threading": 0xfcfc27a99f1078d4, "_active": 0x8a9a6dbfd5db54c9} {
		if got := sipHash(0, 0, []byte(text), 1); got != want {
			t.Errorf("SipHash-1-3 of %q: %#x, want %#x", text, got, want)
		}
	}
}

// TestKeys finds keys in a table of 3.11 after a deleted and another key, and refuses damaged tables.
func TestKeys(t *testing.T) {
	const start, table, secret, texts, textType, slots = 0x10000, 0, 512, 1024, 77, 8
	build := func() ([]byte, *Runtime) {
		b := make([]byte, 4096)
		p := &Runtime{mem: callbackstest.Block{Start: start, Bytes: b}, l: older[11], secretAt: start + secret,
			tables: map[uint64]keyTable{}, places: map[keyPlace]uint64{}}
		p.types.text = textType
		b[table+keysLogSlots], b[table+keysLogIndices], b[table+keysKind] = 3, 3, 1
		binary.LittleEndian.PutUint64(b[table+keysEntries:], 3)
		for i := range slots {
			b[table+keysSize+i] = 0xff // empty
		}
		for i, name := range []string{"_other", "_active", "_name"} {
			at := texts + 128*i
			binary.LittleEndian.PutUint64(b[at+8:], textType)
			binary.LittleEndian.PutUint64(b[at+16:], uint64(len(name)))
			binary.LittleEndian.PutUint32(b[at+32:], 1<<2|1<<5|1<<6) // a byte each, compact, ASCII
			copy(b[at+48:], name)
			entry := table + keysSize + slots + 16*i
			binary.LittleEndian.PutUint64(b[entry:], uint64(start+at))
			binary.LittleEndian.PutUint64(b[entry+8:], uint64(100+i))
		}
		return b, p
	}
	// insert puts an entry behind others in the order of the search.
	insert := func(b []byte, p *Runtime, key string, entries ...byte) {
		hash, err := p.hash(key)
		if err != nil {
			t.Fatal(err)
		}
		slot, perturb := hash%slots, hash
		for _, e := range entries {
			for b[table+keysSize+slot] == e { // a slot that comes twice
				perturb >>= 5
				slot = (slot*5 + perturb + 1) % slots
			}
			b[table+keysSize+slot] = e
			perturb >>= 5
			slot = (slot*5 + perturb + 1) % slots
		}
	}
	const deleted = 0xfe
	b, p := build()
	insert(b, p, "_active", deleted, 0, 1)
	keys, err := p.keyTable(start + table)
	if err != nil {
		t.Fatal(err)
	}
	d := dict{keys: keys}
	if v, err := p.item(d, "_active"); v != 101 || err != nil {
		t.Errorf("_active: %d, %v", v, err)
	}
	if v, err := p.item(d, "missing"); v != 0 || err != nil {
		t.Errorf("missing: %d, %v", v, err)
	}
	for name, damage := range map[string]func(b []byte){
		"too many slots":     func(b []byte) { b[table+keysLogSlots], b[table+keysLogIndices] = 31, 31 },
		"too few slots":      func(b []byte) { b[table+keysLogIndices] = 2 },
		"too many entries":   func(b []byte) { b[table+keysEntries+1] = 1 },
		"an unknown kind":    func(b []byte) { b[table+keysKind] = 9 },
		"an entry too many":  func(b []byte) { fill(b[table+keysSize:][:slots], 3) },
		"only deleted slots": func(b []byte) { fill(b[table+keysSize:][:slots], deleted) },
		"a key out of memory": func(b []byte) {
			fill(b[table+keysSize:][:slots], 0)
			fill(b[table+keysSize+slots:][:8], 0xff)
		},
	} {
		b, p := build()
		damage(b)
		keys, err := p.keyTable(start + table)
		if err == nil {
			_, err = p.item(dict{keys: keys}, "_active")
		}
		if err == nil || name != "a key out of memory" && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
