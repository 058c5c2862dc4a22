package modules

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// listsAt is the start of the fuzzed memory.
const listsAt = 0x10000

// lists is memory with bytes at listsAt only.
type lists []byte

func (m lists) ReadMemory(a callbacks.Address, p []byte) error {
	off := a.Offset - listsAt
	if off > uint64(len(m)) || uint64(len(p)) > uint64(len(m))-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m[off:])
	return nil
}

// loaderLists is the memory of a dynamic section, a struct r_debug of version 2 and two modules, with the given
// links next and namespace.
func loaderLists(next, namespace uint64) []byte {
	const dynamic, debug, first, second, names = 0, 0x40, 0x80, 0xc0, 0x100
	b := make([]byte, 0x140)
	put := func(at int, v ...uint64) {
		for i, w := range v {
			binary.LittleEndian.PutUint64(b[at+8*i:], w)
		}
	}
	put(dynamic, 5, 0, 21, listsAt+debug, 0, 0) // DT_STRTAB, DT_DEBUG, DT_NULL
	put(debug, 2, listsAt+first, 0, 0, 0, namespace)
	put(first, 0x400000, listsAt+names, 0x1000, listsAt+second)
	put(second, 0x7f0000000000, listsAt+names+1, 0x2000, next)
	copy(b[names:], "\x00/lib/libomp.so.5\x00")
	return b
}

// FuzzLinkMap walks bytes as the loader's lists: the walk must end, list each module once, and take no more
// memory than the ledger counts.
func FuzzLinkMap(f *testing.F) {
	for _, next := range []uint64{0, listsAt + 0x80, listsAt + 0xc0, listsAt + 0x13f, ^uint64(0)} {
		f.Add(loaderLists(next, 0))
		f.Add(loaderLists(0, next))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l := budget.NewLedger(1 << 20)
		seen := map[uint64]bool{}
		list := targetMemory{lists(b), l}.linkMaps(&entry{dynamic: listsAt})
		for _, m := range list {
			if seen[m.at] || len(m.name) > maxPath+64 {
				t.Fatalf("%#x twice, or a name of %d bytes", m.at, len(m.name))
			}
			seen[m.at] = true
		}
		if len(list) > maxModules || l.HeldBytes() > 1<<20 {
			t.Fatalf("%d modules, %d bytes", len(list), l.HeldBytes())
		}
	})
}
