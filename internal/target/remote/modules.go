package remote

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Numbers of the auxiliary vector.
const (
	atPHDR  = 3
	atENTRY = 9
)

// moduleTable contains the modules of one stop.
type moduleTable struct {
	table  atomic.Pointer[modules.Table] // nil before the first search
	mu     sync.Mutex                    // held during the search
	spoilt []*modules.Table              // from searches during which memory became unreadable
}

// close unmaps all files.
func (m *moduleTable) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, t := range append(m.spoilt, m.table.Load()) {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}

// Modules returns the modules in the loader's lists; the executable is first.
func (b bound) Modules() ([]*callbacks.Module, error) { return b.table().Modules() }

// table finds the modules, once per stop.
func (b bound) table() *modules.Table {
	m := &b.s.modules
	if t := m.table.Load(); t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.table.Load(); t != nil {
		return t
	}
	f := modules.Facts{Memory: b, Arch: b.t.arch, Auxv: b.t.hello.GetAuxv(), Command: b.t.About().GetExecutable()}
	for _, m := range b.mappings() {
		if m.File != "" {
			f.Files = append(f.Files, m)
		}
	}
	exe := b.t.opts.Exe
	if f.Auxv[atPHDR] == 0 && len(f.Files) == 0 {
		f.Auxv = b.vector(exe)
	}
	o := modules.Options{Exe: exe, Sysroot: b.t.opts.Sysroot, DebugDirs: b.t.opts.DebugDirs, Open: b.t.opts.Open,
		Memory: b.t.taken}
	t := modules.Find(f, o)
	if b.ctx.Err() != nil || b.s.over.Load() {
		m.spoilt = append(m.spoilt, t)
		return t
	}
	m.table.Store(t)
	return t
}

// vector derives the needed part of the auxiliary vector for a debugger without it: the loader's list contains
// the address of the executable, and its file the entry point.
func (b bound) vector(exe string) map[uint64]uint64 {
	bias, err := b.mainBias()
	if err != nil {
		return nil
	}
	if exe == "" {
		exe = b.t.About().GetExecutable()
	}
	taken := b.t.taken.Part()
	defer taken.Close()
	f, closer, err := elfx.OpenFile(b.t.opts.Open).Path(taken, exe)
	if err != nil {
		return nil
	}
	defer closer.Close()
	out := map[uint64]uint64{atENTRY: bias + f.Entry()}
	for _, p := range f.Progs() {
		if p.Type == elf.PT_PHDR {
			out[atPHDR] = bias + p.Vaddr
		}
	}
	return out
}

// mainBias returns l_addr of the first entry of the loader's list.
func (b bound) mainBias() (uint64, error) {
	debug, err := b.askSymbol(symbol{name: "_r_debug"})
	if err != nil {
		return 0, err
	}
	const rMap, lAddr = 8, 0
	var word [8]byte
	if err := b.ReadMemory(debug.Add(rMap), word[:]); err != nil {
		return 0, err
	}
	if err := b.ReadMemory(callbacks.Addr(callbacks.Word(word[:])+lAddr), word[:]); err != nil {
		return 0, err
	}
	return callbacks.Word(word[:]), nil
}

// maps are the mappings of one stop.
type maps struct {
	mu    sync.Mutex
	asked bool
	list  []callbacks.Mapping
}

// mappings is a debugger's power to list mappings.
type mappings struct{ of bound }

// Mappings returns the mappings; nil if they cannot be read.
func (m mappings) Mappings() []callbacks.Mapping { return m.of.mappings() }

func (b bound) mappings() []callbacks.Mapping {
	if !b.t.hasPower(ompdv1.Power_POWER_MAPPINGS) {
		return nil
	}
	m := &b.s.maps
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked {
		answers, err := b.ask(
			&ompdv1.Question{Question: &ompdv1.Question_Mappings{Mappings: &ompdv1.MappingsQuestion{}}})
		if err != nil {
			return nil
		}
		m.asked = true
		for _, one := range answers[0].GetMappings().GetMappings() {
			m.list = append(m.list, mappingOf(one))
		}
	}
	return slices.Clone(m.list)
}

func mappingOf(m *ompdv1.Mapping) callbacks.Mapping {
	out := callbacks.Mapping{Low: callbacks.Addr(m.GetLow()), High: callbacks.Addr(m.GetHigh()), File: m.GetFile(),
		FileOffset: m.GetFileOffset()}
	for _, p := range []struct {
		has  bool
		perm callbacks.Perm
	}{{m.GetRead(), callbacks.PermRead}, {m.GetWrite(), callbacks.PermWrite}, {m.GetExec(), callbacks.PermExec}} {
		if p.has {
			out.Perm |= p.perm
		}
	}
	return out
}

// types is a debugger's power to return sizes and offsets.
type types struct{ of bound }

// TypeSize returns the size of type typ.
func (y types) TypeSize(typ, file string) (uint64, error) {
	a, err := y.ask(&ompdv1.TypeQuestion{Type: typ, File: file})
	return a.GetSize(), err
}

// FieldOffset returns the offset and the size of a field.
func (y types) FieldOffset(typ, field, file string) (offset, size uint64, err error) {
	a, err := y.ask(&ompdv1.TypeQuestion{Type: typ, Field: field, File: file})
	return a.GetOffset(), a.GetSize(), err
}

func (y types) ask(q *ompdv1.TypeQuestion) (*ompdv1.TypeAnswer, error) {
	answers, err := y.of.ask(&ompdv1.Question{Question: &ompdv1.Question_Type{Type: q}})
	if err != nil {
		return nil, err
	}
	a := answers[0]
	if err := errorOf(a, a.GetType() != nil); err != nil {
		return nil, fmt.Errorf("type %s %s: %w", q.GetType(), q.GetField(), err)
	}
	return a.GetType(), nil
}
