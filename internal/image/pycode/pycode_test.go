package pycode

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// TestLines checks the three formats of line tables on tables made by hand.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name      string
		minor     int
		table     []byte
		first, at int
		want      int
	}{
		// 6 bytes of code at line 10, then 4 at line 12, then from line 11 on.
		{"3.9, first line", 9, []byte{0, 0, 6, 2, 4, 255}, 10, 5, 10},
		{"3.9, second line", 9, []byte{0, 0, 6, 2, 4, 255}, 10, 6, 12},
		{"3.9, a step back", 9, []byte{0, 0, 6, 2, 4, 255}, 10, 10, 11},
		{"3.9, not begun", 9, []byte{0, 0, 6, 2, 4, 255}, 10, -1, 0},
		{"3.10, a range", 10, []byte{4, 1, 4, 0x80, 4, 2}, 10, 2, 11},
		{"3.10, without a line", 10, []byte{4, 1, 4, 0x80, 4, 2}, 10, 6, 0},
		{"3.10, after it", 10, []byte{4, 1, 4, 0x80, 4, 2}, 10, 8, 13},
		// Two units on the first line, one without a place, three of a long entry two lines up, one on the next line.
		{"3.11, short", 11, locations, 10, 2, 10},
		{"3.11, no place", 11, locations, 10, 4, 0},
		{"3.11, long", 11, locations, 10, 8, 8},
		{"3.11, one line", 11, locations, 10, 12, 9},
		{"3.11, without columns", 11, locations, 10, 14, 109},
		{"3.11, beyond the end", 11, locations, 10, 100, 0},
		{"3.11, cut", 11, locations[:4], 10, 8, 10},
	} {
		if got := lineOf(tt.minor, tt.table, tt.first, tt.at); got != tt.want {
			t.Errorf("%s: line %d, want %d", tt.name, got, tt.want)
		}
	}
}

var locations = []byte{
	0x80 | 1, 0x12,
	0x80 | noLocation<<3,
	0x80 | long<<3 | 2, 5, 0, 1, 2, // -2: 5
	0x80 | 11<<3, 1, 2,
	0x80 | noColumns<<3, 0x40 | 8, 3, // 100: 200
}

// FuzzLines checks that damaged tables of all releases end.
func FuzzLines(f *testing.F) {
	f.Add(11, locations, 10, 8)
	f.Add(10, []byte{4, 1, 4, 0x80}, 1, 100)
	f.Add(7, []byte{255, 255, 1}, -1, 1<<30)
	f.Fuzz(func(_ *testing.T, minor int, table []byte, first, at int) { lineOf(minor, table, first, at) })
}

// FuzzRuntime checks that damaged interpreters of each release give errors, within bounds.
func FuzzRuntime(f *testing.F) {
	f.Add(9, make([]byte, 4096))
	f.Add(13, append([]byte(debugCookie), make([]byte, 4096)...))
	f.Fuzz(func(_ *testing.T, minor int, b []byte) {
		const start = 0x10000
		p, err := Open(Config{Memory: callbackstest.Block{Start: start, Bytes: b}, Minor: minor,
			Lookup: func(name string) (uint64, bool) { return start, name != "Py_Version" }})
		if err != nil || p == nil {
			return
		}
		threads, _ := p.Threads() // damaged
		for _, t := range threads {
			_, _ = p.Calls(t) // damaged
		}
		_, _ = p.Locks()              // damaged
		_, _ = p.Pauses(threads)      // damaged
		_, _ = p.ThreadNames(threads) // damaged
	})
}

// TestLocks reads the record of the interpreter's lock in its states, as 3.9 and a free-threaded 3.13 have it.
func TestLocks(t *testing.T) {
	const start, at, interpreter, holder = 0x10000, 352, 1000, 0x5555
	type record struct{ enabled, interval, locked, mutex uint32 }
	for _, tt := range []struct {
		name string
		record
		free, never, damaged bool
	}{
		{"held", record{1, 5000, 1, 0}, false, false, false},
		{"free", record{1, 5000, 0, 0}, true, false, false},
		{"changing", record{1, 5000, 1, 1}, true, false, false},
		{"not used yet", record{1, 5000, 0xffffffff, 0}, false, true, false},
		{"no interval", record{1, 0, 1, 0}, false, false, true},
		{"a state that there is not", record{1, 5000, 7, 0}, false, false, true},
		{"off", record{0, 5000, 0, 0}, false, true, false},
	} {
		for _, free := range []bool{false, true} {
			if !free && tt.enabled == 0 {
				continue
			}
			b := make([]byte, 4096)
			put := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
			p := &Runtime{mem: callbackstest.Block{Start: start, Bytes: b}, l: older[9], address: start}
			base := at
			if free {
				p.l.freeThreaded, p.l.lock, p.l.lockPointer, p.l.interpreters, p.l.interpreterID = true, 0, 16, 32, 8
				p.l.interpreterNext = 24
				put(32, start+interpreter)
				put(interpreter+16, start+at)
				put(interpreter+8, 3)
				put(at, tt.enabled)
				base += 8
			}
			put(base, tt.interval)
			put(base+8, holder)
			put(base+16, tt.locked)
			put(base+80, tt.mutex)
			got, err := p.Locks()
			want := []Lock{{Address: start + at, Condition: start + uint64(base) + 32, Holder: holder}}
			if free {
				want[0].Interpreter = 3
			}
			if tt.free {
				want[0].Holder = 0
			}
			if tt.never || tt.damaged {
				want = nil
			}
			if !slices.Equal(got, want) || errors.Is(err, ErrDamaged) != tt.damaged {
				t.Errorf("%s, free-threaded %v: %+v, %v; want %+v", tt.name, free, got, err, want)
			}
		}
	}
}

// TestOpenWithoutInterpreter checks that a module without an interpreter is no error, and an unknown release is one.
func TestOpenWithoutInterpreter(t *testing.T) {
	m := callbackstest.Block{Start: 0x1000, Bytes: make([]byte, 64)}
	none := func(string) (uint64, bool) { return 0, false }
	if p, err := Open(Config{Memory: m, Lookup: none}); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	one := func(n string) (uint64, bool) { return 0x1000, n == "_PyRuntime" }
	_, err := Open(Config{Memory: m, Minor: 6, Lookup: one})
	if !errors.Is(err, ErrRelease) {
		t.Errorf("3.6: %v", err)
	}
}
