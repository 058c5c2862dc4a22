// Package jitcode names code that a program made at run time, outside of its modules: by the object files that it
// registered for debuggers (GDB's JIT interface, __jit_debug_descriptor), as LLVM's compilers at run time do, and by
// perf maps (/tmp/perf-PID.map).
package jitcode

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrDamaged means that the list of objects or an object is damaged.
var ErrDamaged = errors.New("damaged list of registered code")

// Bounds on reads.
const (
	maxObjects    = 1 << 14
	maxObjectSize = 64 << 20 // bytes
	maxName       = 4 << 10  // bytes
	maxLines      = 1 << 20  // of a perf map
)

// Function is a function that was made at run time.
type Function struct {
	Name      string // as the object or the map has it; it may be mangled
	Low, High uint64
}

// contains reports whether the function contains pc.
func (f Function) contains(pc uint64) bool { return pc >= f.Low && pc < f.High }

// Object is an object file in memory that the program registered.
type Object struct {
	mem      callbacks.Memory
	at, size uint64
}

// Offsets in struct jit_descriptor (version 1) and struct jit_code_entry (gdb's manual, "JIT Interface").
const (
	descriptorVersion = 0  // uint32
	descriptorFirst   = 16 // address of the first entry
	descriptorSize    = 24

	entryNext   = 0
	entryObject = 16 // address
	entryLength = 24
	entrySize   = 32
)

// Objects returns the objects in the list of a descriptor. With an error, it returns those that could be read.
func Objects(mem callbacks.Memory, descriptor uint64) ([]Object, error) {
	var head [descriptorSize]byte
	if err := mem.ReadMemory(callbacks.Addr(descriptor), head[:]); err != nil {
		return nil, fmt.Errorf("reading __jit_debug_descriptor: %w", err)
	}
	if v := binary.LittleEndian.Uint32(head[descriptorVersion:]); v != 1 {
		return nil, fmt.Errorf("version %d: %w", v, ErrDamaged)
	}
	var out []Object
	next := binary.LittleEndian.Uint64(head[descriptorFirst:])
	for n := 0; next != 0; n++ {
		if n == maxObjects { // objects that are too large count, too: the list may have no end
			return out, fmt.Errorf("more than %d objects: %w", maxObjects, ErrDamaged)
		}
		var entry [entrySize]byte
		if err := mem.ReadMemory(callbacks.Addr(next), entry[:]); err != nil {
			return out, fmt.Errorf("reading an entry of __jit_debug_descriptor: %w", err)
		}
		o := Object{mem, binary.LittleEndian.Uint64(entry[entryObject:]),
			binary.LittleEndian.Uint64(entry[entryLength:])}
		if o.size <= maxObjectSize {
			out = append(out, o)
		}
		next = binary.LittleEndian.Uint64(entry[entryNext:])
	}
	return out, nil
}

// ReadAt reads from the object file.
func (o Object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || uint64(off) >= o.size {
		return 0, io.EOF
	}
	n := min(uint64(len(p)), o.size-uint64(off))
	if err := o.mem.ReadMemory(callbacks.Addr(o.at+uint64(off)), p[:n]); err != nil {
		return 0, fmt.Errorf("reading a registered object: %w", err)
	}
	if n < uint64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// Function returns the function of the object that contains pc. Only headers are read of an object without such a
// function.
func (o Object) Function(pc uint64) (Function, bool) {
	f, err := elf.NewFile(o)
	if err != nil {
		return Function{}, false
	}
	inside := false
	for _, s := range f.Sections {
		inside = inside || s.Flags&elf.SHF_EXECINSTR != 0 && pc-s.Addr < s.Size
	}
	if !inside {
		return Function{}, false
	}
	symbols, err := f.Symbols()
	if err != nil {
		return Function{}, false
	}
	for _, s := range symbols {
		fn := Function{s.Name, s.Value, s.Value + s.Size}
		if f.Type == elf.ET_REL { // values are offsets in sections
			if int(s.Section) >= len(f.Sections) {
				continue
			}
			fn.Low += f.Sections[s.Section].Addr
			fn.High += f.Sections[s.Section].Addr
		}
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && fn.contains(pc) && len(s.Name) <= maxName {
			return fn, true
		}
	}
	return Function{}, false
}

// InMap returns the function in a perf map that contains pc. A line is "START SIZE NAME" with hexadecimal numbers; of
// several functions, the last one is the newest.
func InMap(text []byte, pc uint64) (found Function, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 0; n < maxLines && lines.Scan(); n++ {
		start, rest, _ := strings.Cut(lines.Text(), " ")
		size, name, _ := strings.Cut(rest, " ")
		low, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		length, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if err1 != nil || err2 != nil || name == "" || len(name) > maxName {
			continue
		}
		if f := (Function{name, low, low + length}); f.contains(pc) {
			found, ok = f, true
		}
	}
	return found, ok
}
