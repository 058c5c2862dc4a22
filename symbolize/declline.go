package symbolize

import (
	"bytes"
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/symbolize/internal/dwarfx"
)

const (
	// maxWrapper bounds the code of a function that only passes its arguments
	// on to a debug twin; without optimization those have under 300 bytes.
	maxWrapper = 1 << 12
	// maxParentCode bounds the code that is searched for a reference to an
	// outlined function.
	maxParentCode = 4 << 20
)

// declLine returns where the function that is entered at a file address stands
// in the source, see Symbolizer.DeclLine.
func (m *module) declLine(addr uint64) (dwarfx.Position, error) {
	m.wantLines = true
	if p, ok := m.decls[addr]; ok {
		return p, nil
	}
	p := m.findDecl(addr)
	if p.Line == 0 {
		return p, m.damage()
	}
	if m.decls == nil {
		m.decls = map[uint64]dwarfx.Position{}
	}
	m.decls[addr] = p
	return p, nil
}

// findDecl finds the line of a function's declaration.
//
// clang declares what it outlines (.omp_outlined., .omp_task_entry.) at the line
// of the directive, but the debug twin of a parallel region at its block: then
// the function that calls the twin has the line. gcc declares what it outlines
// (_omp_fn) nowhere: the line is that of the code that hands the function to
// the runtime. Where all that is unknown, it is the line of the first
// instruction.
func (m *module) findDecl(addr uint64) dwarfx.Position {
	u := m.unit(addr)
	if u == nil {
		return dwarfx.Position{}
	}
	f, ok := u.Func(addr)
	if ok && f.Low == addr {
		names := f.Names()
		if isDebugTwin(names.Name) {
			if w, ok := m.callerOfTwin(u, addr); ok {
				f = w
			}
		}
		if file, line := f.Decl(); line != 0 {
			return dwarfx.Position{File: file, Line: line}
		}
		if kind, _ := Construct(names.Name); kind != "" {
			if at, ok := m.referenceTo(u, addr); ok {
				if p, ok := u.Line(at); ok && p.Line != 0 {
					return p
				}
			}
		}
	}
	p, _ := u.Line(addr)
	return p
}

// arch is the instruction set of the module's file.
func (m *module) arch() callbacks.Arch {
	if f := m.elf(); f != nil {
		return f.Arch()
	}
	return callbacks.ArchUnknown
}

// text returns the code of a function from the module's file; nil if it is not
// at hand.
func (m *module) text(low, high, limit uint64) []byte {
	f := m.elf()
	if f == nil || high <= low || high-low > limit {
		return nil
	}
	b, err := f.DataAt(low, int(high-low))
	if err != nil {
		return nil
	}
	return b
}

// callerOfTwin returns the outlined function of a unit that calls or jumps to
// the debug twin that is entered at addr.
func (m *module) callerOfTwin(u *dwarfx.Unit, addr uint64) (found dwarfx.Func, ok bool) {
	arch := m.arch()
	u.Funcs(func(low, high uint64, f dwarfx.Func) bool {
		code := m.text(low, high, maxWrapper)
		if code == nil || low == addr || !calls(arch, code, low, addr) {
			return true
		}
		name := f.Names().Name
		if kind, _ := Construct(name); kind == "" || isDebugTwin(name) {
			return true
		}
		found, ok = f, true
		return false
	})
	return found, ok
}

// calls tells whether code, which lies at low, has a direct call or jump to
// target.
func calls(arch callbacks.Arch, code []byte, low, target uint64) bool {
	if arch == callbacks.ArchAArch64 {
		for i := 0; i+4 <= len(code); i += 4 {
			w := binary.LittleEndian.Uint32(code[i:])
			// b and bl: a signed distance of 26 bits, in instructions
			if w&0x7c000000 == 0x14000000 && low+uint64(i)+uint64(int64(int32(w<<6)>>6)*4) == target {
				return true
			}
		}
		return false
	}
	for i := 0; i+5 <= len(code); i++ {
		if code[i]&^1 == 0xe8 && relative(code, i+1, low) == target { // call, jmp
			return true
		}
	}
	return false
}

// relative is the address that the 4-byte distance at code[i] leads to.
func relative(code []byte, i int, low uint64) uint64 {
	return low + uint64(i) + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i:]))))
}

// referenceTo returns the address of an instruction of the unit that loads the
// address target.
func (m *module) referenceTo(u *dwarfx.Unit, target uint64) (at uint64, ok bool) {
	budget := uint64(maxParentCode)
	u.Funcs(func(low, high uint64, _ dwarfx.Func) bool {
		code := m.text(low, high, budget)
		budget -= uint64(len(code))
		if i := loads(m.arch(), code, low, target); i >= 0 {
			at, ok = low+uint64(i), true
		}
		return !ok
	})
	return at, ok
}

// loads returns the offset of an instruction in code that loads the address
// target, or -1.
func loads(arch callbacks.Arch, code []byte, low, target uint64) int {
	if arch == callbacks.ArchAArch64 {
		return loadsAArch64(code, low, target)
	}
	// lea disp(%rip),reg in position-independent code, mov $imm32,reg else
	for i := 0; i+6 <= len(code); i++ {
		if code[i] == 0x8d && code[i+1]&0xc7 == 0x05 && relative(code, i+2, low) == target {
			return i
		}
	}
	if target>>32 != 0 {
		return -1
	}
	imm := binary.LittleEndian.AppendUint32(nil, uint32(target))
	for i := 0; ; i++ {
		next := bytes.Index(code[min(i, len(code)):], imm)
		if i += next; next < 0 {
			return -1
		}
		if i > 0 && code[i-1]&0xf8 == 0xb8 {
			return i - 1
		}
	}
}

// loadsAArch64 looks for adrp and add in a row.
func loadsAArch64(code []byte, low, target uint64) int {
	for i := 0; i+8 <= len(code); i += 4 {
		adrp, add := binary.LittleEndian.Uint32(code[i:]), binary.LittleEndian.Uint32(code[i+4:])
		if adrp&0x9f000000 != 0x90000000 || add&0xffc00000 != 0x91000000 || add>>5&31 != adrp&31 {
			continue
		}
		pages := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3)
		page := (low+uint64(i))&^0xfff + uint64(pages<<12)
		if page+uint64(add>>10&0xfff) == target {
			return i
		}
	}
	return -1
}
