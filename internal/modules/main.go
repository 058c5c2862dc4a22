package modules

import (
	"debug/elf"
	"path"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/elfx"
)

// pageSize is the unit in which segments are mapped on x86-64, and the smallest
// on aarch64.
const pageSize = 4096

// maxVDSO bounds the vdso, which has two pages on x86-64 and aarch64 today.
const maxVDSO = 16 * pageSize

// maxHeaderPages bounds the part of a module's first segment that is read for
// its headers and its build ID.
const maxHeaderPages = 16 * pageSize

// memoryImage is the beginning of a file as it is mapped in a target.
type memoryImage struct {
	mem  callbacks.Memory
	base uint64
}

func (m memoryImage) Size() int64 { return maxHeaderPages }

func (m memoryImage) ReadAt(p []byte, off int64) (int, error) {
	if err := m.mem.ReadMemory(callbacks.At(m.base+uint64(off)), p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// readHeaders reads the ELF headers that the target has at address base.
func (t *Table) readHeaders(e *entry, base uint64) {
	if base == 0 {
		return
	}
	if f, err := elfx.Open(memoryImage{t.facts.Memory, base}); err == nil && len(f.Progs()) > 0 {
		e.memory = f
	}
}

// findMain finds the executable. Its headers lie right before the program
// headers that the kernel names in AT_PHDR; if they are not in memory, the
// entry point that the file has tells the bias.
func (t *Table) findMain() *entry {
	e := &entry{}
	e.mod.Main = true
	phdr, entryPoint := t.facts.Auxv[atPHDR], t.facts.Auxv[atENTRY]
	m := t.mappingAt(phdr)
	if m == nil {
		m = t.mappingAt(entryPoint)
	}
	if m != nil {
		e.mod.Path = m.File
		t.readHeaders(e, t.startOf(m))
	} else if phdr != 0 {
		const ehdrSize = 64
		t.readHeaders(e, phdr-ehdrSize)
	}
	if name := t.execName(); e.mod.Path == "" {
		e.mod.Path = name
	} else if name != "" {
		e.names = append(e.names, name)
	}
	if e.memory != nil {
		e.setMainBias(e.memory, phdr, entryPoint)
		t.complete(e)
	} else {
		t.complete(e)
		if e.file != nil {
			e.setMainBias(e.file, phdr, entryPoint)
			e.setBounds()
		}
	}
	return e
}

// setMainBias compares the entry point, or where the program headers are, in
// the target and in the file.
func (e *entry) setMainBias(f *elfx.File, phdr, entryPoint uint64) {
	if f.Type() == elf.ET_DYN {
		if entryPoint != 0 && f.Entry() != 0 {
			e.mod.Bias = entryPoint - f.Entry()
		} else if phdr != 0 {
			const ehdrSize = 64
			e.mod.Bias = phdr - ehdrSize - firstVaddr(f)
		}
	}
	if d, ok := dynamicOf(f); ok {
		e.dynamic = e.mod.Bias + d
	}
}

// execName is the path that the program was started by, if it is absolute: as
// the kernel left it on the stack, or else the first word of the command line.
func (t *Table) execName() string {
	name, err := t.readString(t.facts.Auxv[atEXECFN])
	if err != nil || name == "" {
		name, _, _ = strings.Cut(t.facts.Command, " ")
	}
	if !path.IsAbs(name) {
		return ""
	}
	return name
}

// addVDSO adds the kernel's module, with a copy of its image.
func (t *Table) addVDSO() {
	base := t.facts.Auxv[atSYSINFOEHDR]
	if base == 0 {
		return
	}
	size := uint64(maxVDSO)
	if t.facts.VDSOEnd > base {
		size = min(size, t.facts.VDSOEnd-base)
	}
	e := &entry{debug: func() *elfx.File { return nil }}
	e.mod.Path = vdsoPath
	e.mod.Low, e.mod.High = callbacks.At(base), callbacks.At(base+size)
	img, err := t.copyImage(base, size)
	if err == nil {
		e.file, err = elfx.Open(img)
	}
	if err != nil {
		e.mod.Err = &Error{vdsoPath, err, "the kernel's coredump_filter may have left it out; backtraces through system calls may end there"}
	} else {
		e.mod.Image = img
		e.mod.BuildID = e.file.BuildID()
		e.mod.Bias = base - firstVaddr(e.file)
		e.setBounds()
	}
	t.entries = append(t.entries, e)
}

// copyImage copies pages of the target until size or until one is missing.
func (t *Table) copyImage(base, size uint64) (callbacks.Image, error) {
	b := make([]byte, size)
	for n := uint64(0); n < size; n += pageSize {
		if err := t.facts.Memory.ReadMemory(callbacks.At(base+n), b[n:min(n+pageSize, size)]); err != nil {
			if n == 0 {
				return nil, err
			}
			b = b[:n]
			break
		}
	}
	return byteImage{strings.NewReader(string(b)), b}, nil
}

// byteImage is an image that is in memory.
type byteImage struct {
	*strings.Reader
	b []byte
}

func (m byteImage) Bytes() []byte { return m.b }

// firstVaddr is the virtual address at which a file has its first byte.
func firstVaddr(f *elfx.File) uint64 {
	for _, p := range f.Progs() {
		if p.Type == elf.PT_LOAD && p.Off < pageSize {
			return p.Vaddr - p.Off
		}
	}
	return 0
}

// dynamicOf is the virtual address of the dynamic section.
func dynamicOf(f *elfx.File) (uint64, bool) {
	for _, p := range f.Progs() {
		if p.Type == elf.PT_DYNAMIC {
			return p.Vaddr, true
		}
	}
	return 0, false
}
