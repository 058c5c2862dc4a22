package locate

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
)

// dataAt is the start of the writable memory of the fuzzed module.
const dataAt = 0x20000

// FuzzDescription reads bytes as the memory around a stripped runtime's description: an accepted description
// must not contradict itself.
func FuzzDescription(f *testing.F) {
	words := ompdWords()
	whole := make([]byte, 8*(len(words)+len(ompdGlobals()))+256)
	for i, w := range words {
		v := uint64(8)
		switch {
		case w.kind == "access":
			v = 0
		case w.field == "":
			v = 1 << 10
		}
		binary.LittleEndian.PutUint64(whole[8*i:], v)
	}
	before := 0
	for words[before].kind != "bitfield" {
		before++
	}
	copy(whole[8*before:], needle())
	f.Add(whole, uint16(0))
	f.Add(whole[:8*before+88], uint16(64))
	f.Add(append(needle(), needle()...), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, pool uint16) {
		c := callbackstest.NewFake(callbacks.ArchX86_64)
		low := callbacks.Addr(dataAt)
		mod := &callbacks.Module{Path: "/lib/libomp.so.5", Low: low, High: low.Add(uint64(len(data)))}
		c.AddModule(mod)
		c.Map(low, data)
		c.Define("__kmp_thread_pool", "", low.Add(uint64(pool)))
		s := newMemorySource(c, mod)
		for _, w := range words {
			if w.field == "" {
				s.Type(w.typ)
			} else if fd, err := s.Field(w.typ, w.field); err == nil && (fd.Size == 0 || fd.Offset > 1<<20) {
				t.Fatalf("%s.%s: %+v", w.typ, w.field, fd)
			}
		}
		for _, name := range ompdGlobals() {
			s.Global(name)
		}
		if s.confirmed() && s.words == nil {
			t.Fatal("confirmed without a description")
		}
	})
}
