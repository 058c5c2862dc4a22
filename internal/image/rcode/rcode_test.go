package rcode

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

const start = 0x10000

// exported has the addresses of R's variables in the tests.
var exported = map[string]uint64{
	"R_GlobalContext": start, "R_Srcref": start + 8, "R_NilValue": start + 16, "R_InBCInterpreter": start + 24,
	"R_BCNodeStackTop": start + 32, "R_BCNodeStackEnd": start + 40, "R_SrcfileSymbol": start + 48,
	"R_ClassSymbol": start + 56, "R_CStackStart": start + 64, "R_CStackLimit": start + 72, "R_PPStackTop": start + 256,
}

func openTest(t interface {
	Helper()
	Fatal(...any)
}, b []byte) *Runtime {
	t.Helper()
	p, err := Open(Config{Memory: callbackstest.Block{Start: start, Bytes: b}, JumpBuffer: 200,
		Lookup: func(name string) (uint64, bool) { at, ok := exported[name]; return at, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// image makes the memory of a session with two calls of f(), the inner one in R's stack of nodes if inlined is set.
func image(inlined bool) []byte {
	b := make([]byte, 1<<14)
	put := func(at uint64, v uint64) { binary.LittleEndian.PutUint64(b[at-start:], v) }
	const nilValue, top, name, symbol, call = start + 0x400, start + 0x500, start + 0x600, start + 0x700, start + 0x800
	const inner, outer, nodes, end = start + 0x1000, start + 0x2000, start + 0x3000, start + 0x3800
	at := uint64(inner)
	nodesAt, source := uint64(oldNodes), uint64(oldNodes+16)
	if inlined {
		at, nodesAt, source = nodes+0x100, newNodes, newNodes+24
	}
	put(exported["R_GlobalContext"], at)
	put(exported["R_NilValue"], nilValue)
	put(exported["R_CStackStart"], start+0x2800)
	put(exported["R_CStackLimit"], 0x2000)
	put(exported["R_InBCInterpreter"], start+0x480)
	put(exported["R_BCNodeStackTop"], nodes+0x700)
	put(exported["R_BCNodeStackEnd"], end)
	put(nilValue, 0)
	put(name, textType)
	put(name+vectorLength, 1)
	put(name+vectorData, 'f')
	put(symbol, symbolType)
	put(symbol+symbolName, name)
	put(call, callType)
	put(call+listHead, symbol)
	for _, c := range [][2]uint64{{at, outer}, {outer, top}} {
		put(c[0], c[1])
		put(c[0]+contextFlags, 12)
		put(c[0]+216+contextCall, call)
		put(c[0]+216+nodesAt, nodes)
		put(c[0]+216+source, nilValue)
	}
	return b
}

// TestCalls reads the calls of both layouts.
func TestCalls(t *testing.T) {
	const inner, outer = start + 0x1000, start + 0x2000
	f := Frame{Function: "f"}
	for _, tt := range []struct {
		inlined bool
		want    []Call
	}{
		{false, []Call{{inner, []Frame{f}}, {outer, []Frame{f}}}},
		{true, []Call{{outer, []Frame{f, f}}}},
	} {
		got, err := openTest(t, image(tt.inlined)).Calls()
		if err != nil || !slices.EqualFunc(got, tt.want, func(a, b Call) bool {
			return a.Mark == b.Mark && slices.Equal(a.Frames, b.Frames)
		}) {
			t.Errorf("inlined %v: %+v, %v; want %+v", tt.inlined, got, err, tt.want)
		}
	}
}

// TestCallsWithoutEnd checks that a circular list of contexts is an error, beside its frames.
func TestCallsWithoutEnd(t *testing.T) {
	b := image(false)
	binary.LittleEndian.PutUint64(b[0x2000:], start+0x1000)
	got, err := openTest(t, b).Calls()
	if !errors.Is(err, ErrDamaged) || len(got) != 2 {
		t.Errorf("%d calls, %v", len(got), err)
	}
}

// TestOpen checks that a module without R is no error, and one without all variables is one.
func TestOpen(t *testing.T) {
	m := callbackstest.Block{Start: start, Bytes: make([]byte, 64)}
	p, err := Open(Config{Memory: m, Lookup: func(string) (uint64, bool) { return 0, false }})
	if p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	_, err = Open(Config{Memory: m, Lookup: func(n string) (uint64, bool) { return start, n == "R_GlobalContext" }})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("without variables: %v", err)
	}
}

// TestRunsOn checks the range of the stack of R's thread, with and without a limit.
func TestRunsOn(t *testing.T) {
	b := image(false)
	const high, limit = 0x70000000, 0x100000
	binary.LittleEndian.PutUint64(b[64:], high)
	for _, tt := range []struct {
		limit, sp uint64
		want      bool
	}{
		{limit, high, false},
		{limit, high - 1, true},
		{limit, high - limit, true},
		{limit, high - limit - 1, false},
		{1<<64 - 1, high - maxStack, true},
		{1<<64 - 1, high - maxStack - 1, false},
	} {
		binary.LittleEndian.PutUint64(b[72:], tt.limit)
		if got := openTest(t, b).RunsOn(tt.sp); got != tt.want {
			t.Errorf("limit %#x: stack pointer %#x is on it: %v", tt.limit, tt.sp, got)
		}
	}
}

// FuzzCalls checks that damaged sessions give errors, within bounds.
func FuzzCalls(f *testing.F) {
	f.Add(image(false))
	f.Add(image(true))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := openTest(t, b)
		_, _ = p.Calls() // damaged
		p.RunsOn(start)
	})
}
