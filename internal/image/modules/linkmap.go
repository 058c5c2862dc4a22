package modules

import (
	"bytes"
	"debug/elf"
	"fmt"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// maxModules bounds the walk over the loader's lists. Programs that load a
// thousand plug-ins exist.
const maxModules = 1 << 14

// maxNamespaces bounds the lists themselves; glibc has 16.
const maxNamespaces = 64

// maxPath is PATH_MAX.
const maxPath = 4096

// maxDynamic bounds the entries of a dynamic section in the target.
const maxDynamic = 1 << 12

// linkMap is the public part of the loader's struct link_map.
type linkMap struct {
	at      uint64 // its own address
	addr    uint64 // l_addr, the bias
	name    string // l_name
	dynamic uint64 // l_ld
}

// targetMemory is the memory with the loader's lists.
type targetMemory struct {
	callbacks.Memory
	taken *budget.Ledger // for the memory of the results
}

// linkMaps walks the loader's lists: PT_DYNAMIC of the executable, its DT_DEBUG, struct r_debug and, since
// glibc 2.35, the r_debug_extended of other namespaces. A damaged list ends at the damage.
func (m targetMemory) linkMaps(main *entry) []linkMap {
	debug, err := m.debugAddress(main)
	if err != nil {
		return nil
	}
	var list []linkMap
	seen := map[uint64]bool{}
	for n := 0; debug != 0 && n < maxNamespaces && !seen[debug]; n++ {
		seen[debug] = true
		version, err := m.word(debug, 4)
		if err != nil {
			break
		}
		list = m.walk(list, seen, debug)
		if version < 2 {
			break
		}
		const rNext = 40
		if debug, err = m.word(debug+rNext, 8); err != nil {
			break
		}
	}
	return list
}

// walk appends the list of one namespace.
func (m targetMemory) walk(list []linkMap, seen map[uint64]bool, debug uint64) []linkMap {
	const rMap = 8
	at, err := m.word(debug+rMap, 8)
	for err == nil && at != 0 && !seen[at] && len(list) < maxModules {
		seen[at] = true
		var b [32]byte
		if err = m.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
			break
		}
		l := linkMap{at: at, addr: callbacks.Word(b[:8]), dynamic: callbacks.Word(b[16:24])}
		l.name, _ = m.readString(callbacks.Word(b[8:16]))
		if m.taken.Take("list of modules", uint64(unsafe.Sizeof(entry{}))+uint64(len(l.name))) != nil {
			break
		}
		list = append(list, l)
		at = callbacks.Word(b[24:32])
	}
	return list
}

// isLoader reports whether the module is the loader itself.
func (e *entry) isLoader() bool { return e.debugSymbol() != 0 }

// debugSymbol returns the address of the loader's own struct r_debug; 0 in any other module.
func (e *entry) debugSymbol() uint64 {
	if e.file == nil {
		return 0
	}
	s, ok := e.file.LookupDynamic("_r_debug")
	if !ok || s.Type != elf.STT_OBJECT {
		return 0
	}
	return e.mod.Bias + s.Value
}

// debugAddress returns the value of DT_DEBUG, which the loader writes into the executable's dynamic section.
// The loader itself has no DT_DEBUG.
func (m targetMemory) debugAddress(main *entry) (uint64, error) {
	if a := main.debugSymbol(); a != 0 {
		return a, nil
	}
	if main.dynamic == 0 {
		return 0, fmt.Errorf("the executable has no dynamic section")
	}
	for i := range uint64(maxDynamic) {
		var b [16]byte
		if err := m.ReadMemory(callbacks.Addr(main.dynamic+16*i), b[:]); err != nil {
			return 0, err
		}
		switch elf.DynTag(callbacks.Word(b[:8])) {
		case elf.DT_DEBUG:
			return callbacks.Word(b[8:]), nil
		case elf.DT_NULL:
			return 0, fmt.Errorf("the executable has no DT_DEBUG")
		}
	}
	return 0, fmt.Errorf("dynamic section without end")
}

// word reads an unsigned integer of n bytes.
func (m targetMemory) word(a uint64, n int) (uint64, error) {
	var b [8]byte
	err := m.ReadMemory(callbacks.Addr(a), b[:n])
	return callbacks.Word(b[:n]), err
}

// readString reads a NUL-terminated string of at most maxPath bytes, in steps that do not cross
// into memory that may be missing.
func (m targetMemory) readString(a uint64) (string, error) {
	if a == 0 {
		return "", nil
	}
	var s []byte
	const step = 64
	for len(s) < maxPath {
		var b [step]byte
		n := step - a%step
		if err := m.ReadMemory(callbacks.Addr(a), b[:n]); err != nil {
			return "", err
		}
		if end := bytes.IndexByte(b[:n], 0); end >= 0 {
			return string(append(s, b[:end]...)), nil
		}
		s = append(s, b[:n]...)
		a += n
	}
	return "", fmt.Errorf("string without end at %#x", a)
}
