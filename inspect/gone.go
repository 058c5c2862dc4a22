package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Gone tells why the memory at addr is not the program's any more, in words for
// people; empty if it is, or if nothing proves that it is not. What it says was
// read: of the mappings, of the stack pointers and blocks of the threads, or of
// what glibc's malloc keeps of free memory.
func (in *Inspector) Gone(addr uint64) string {
	if addr == 0 || in.moduleOf(addr) != nil {
		return ""
	}
	if why, ok := in.gone[addr]; ok {
		return why
	}
	why, maps := "", in.mappings()
	switch m := usable(maps, addr); {
	case m != nil:
		why = cmp.Or(in.deadStack(m, addr), in.freed(m, addr))
	case len(maps) > 0 && in.allMapped():
		why = fmt.Sprintf("no memory is mapped at %v: it was given back to the system", Hex(addr))
	}
	in.gone[addr] = why
	return why
}

// allMapped tells whether the target lists all that is mapped: debuggers leave out of
// their cores what they do not write.
func (in *Inspector) allMapped() bool {
	about := in.cfg.About
	return about.Kind == "process" || about.Kind == "core" && about.Producer == "kernel"
}

// usable is the mapping of memory that may be used which has addr; nil if there is
// none.
func usable(maps []callbacks.Mapping, addr uint64) *callbacks.Mapping {
	i, found := slices.BinarySearchFunc(maps, addr, func(m callbacks.Mapping, a uint64) int {
		switch {
		case a < m.Low.Offset:
			return 1
		case a >= m.High.Offset:
			return -1
		}
		return 0
	})
	if !found || maps[i].Perm == 0 {
		return nil
	}
	return &maps[i]
}

// words reads the aligned 8-byte words of [low, high); none if they cannot be read.
func (in *Inspector) words(low, high uint64) []uint64 {
	low = (low + 7) &^ 7
	if high <= low {
		return nil
	}
	b := make([]byte, (high-low)&^7)
	if in.cfg.Target.ReadMemory(callbacks.At(low), b) != nil {
		return nil
	}
	ws := make([]uint64, len(b)/8)
	for i := range ws {
		ws[i] = callbacks.Word(b[8*i : 8*i+8])
	}
	return ws
}
