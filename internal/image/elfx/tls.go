package elfx

import (
	"debug/elf"
	"fmt"
)

// threadRelocs are the relocations that give the place of a thread-local variable: a descriptor, or the distance from
// the thread pointer.
var threadRelocs = map[elf.Machine][2]uint32{
	elf.EM_X86_64:  {uint32(elf.R_X86_64_TLSDESC), uint32(elf.R_X86_64_TPOFF64)},
	elf.EM_AARCH64: {uint32(elf.R_AARCH64_TLSDESC), uint32(elf.R_AARCH64_TLS_TPREL64)},
}

// ThreadOffset returns the thread-local variable of the file whose place the loader writes to an address: its offset in
// the file's block of thread-local variables.
func (f *File) ThreadOffset(addr uint64) (uint64, error) {
	list, err := f.Relocations()
	if err != nil {
		return 0, err
	}
	types := threadRelocs[f.Machine()]
	for _, r := range list {
		if r.Offset != addr || r.Type == 0 || r.Type != types[0] && r.Type != types[1] {
			continue
		}
		s, ok := f.Lookup(r.Symbol)
		if r.Symbol != "" && (!ok || s.Type != elf.STT_TLS) {
			return 0, fmt.Errorf("the loader takes the variable at %#x, %s, from another file", addr, r.Symbol)
		}
		return s.Value + uint64(r.Addend), nil
	}
	return 0, fmt.Errorf("no relocation gives the place of a thread-local variable at %#x", addr)
}
