package elfx

import (
	"debug/elf"
	"unsafe"
)

// FileSymbol is a symbol of .symtab with the number of the source file to which the table assigns it, if it is a local
// symbol.
type FileSymbol struct {
	Symbol
	File int
}

// StaticNamed returns the symbols of .symtab that have an address and a name that match accepts, in the order of the
// table. match must not keep the name.
func (f *File) StaticNamed(match func(name []byte) bool) (list []FileSymbol) {
	t, err := f.symtab()
	if err != nil {
		return nil
	}
	file := 0
	for i, left := uint64(1), maxNames; i < t.len() && left > 0; i++ {
		if elf.ST_TYPE(t.raw[i*symSize+4]) == elf.STT_FILE {
			file++
		}
		if !t.isWanted(i) {
			continue
		}
		name := t.name(i)
		if left -= len(name); !match(name) {
			continue
		}
		if f.memory.Take("symbols of one kind", uint64(unsafe.Sizeof(FileSymbol{}))+uint64(len(name))) != nil {
			break
		}
		s := t.entryAt(i)
		s.Name = string(name)
		list = append(list, FileSymbol{s, file})
	}
	return list
}
