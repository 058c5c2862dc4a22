package modules

import (
	"debug/elf"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// ThreadSymbol returns the address of a thread's own instance of a thread-local symbol, as
// callbacks.Symbols requires. tp is the thread pointer.
//
// The executable's block is at a fixed distance from the thread pointer; that of a library is found
// through the thread's dtv (ELF Handling For Thread-Local Storage, section 3).
func (t *Table) ThreadSymbol(tp uint64, name, file string) (callbacks.Address, error) {
	e, s, err := t.find(name, file, true)
	if err != nil {
		return callbacks.Address{}, err
	}
	if tp == 0 {
		return callbacks.Address{}, fmt.Errorf("%s: %w: the thread has no thread pointer", name,
			callbacks.ErrNoThreadStorage)
	}
	block, err := uint64(0), error(nil)
	if e.mod.Main {
		block, err = t.mainBlock(e, tp)
	} else {
		block, err = t.libraryBlock(e, tp)
	}
	if err != nil {
		return callbacks.Address{}, fmt.Errorf("%s in %s: %w", name, e.mod.Path, err)
	}
	return callbacks.Addr(block + s.Value), nil
}

// mainBlock returns the address of the executable's block. On x86-64 it ends at the thread pointer
// (variant II); on aarch64 it starts after the two words there (variant I).
func (t *Table) mainBlock(e *entry, tp uint64) (uint64, error) {
	for _, p := range e.progs() {
		if p.Type != elf.PT_TLS {
			continue
		}
		align := max(p.Align, 1)
		if head := arch.Of(t.facts.Arch).HeaderSize; head != 0 {
			return tp + (head+align-1)&^(align-1), nil
		}
		return tp - (p.Memsz+align-1)&^(align-1), nil
	}
	return 0, fmt.Errorf("%w: no PT_TLS", callbacks.ErrNoThreadStorage)
}

// libraryBlock returns the address of a library's block, from the C library's data.
func (t *Table) libraryBlock(e *entry, tp uint64) (uint64, error) {
	if e.linkMap == 0 {
		return 0, fmt.Errorf("%w: the module is in no list of the loader", callbacks.ErrNoThreadStorage)
	}
	return t.storage().Block(t.facts.Memory, t.facts.Arch, e.linkMap, tp)
}

// Pthread returns the pthread_t of the thread with that thread pointer. On aarch64 that requires glibc's size
// of struct pthread; without it the error is ErrUnsupportedKind.
func (t *Table) Pthread(tp uint64) (uint64, error) {
	if arch.Of(t.facts.Arch).PthreadAtTP || tp == 0 {
		return tp, nil
	}
	return t.storage().Pthread(tp)
}

// ThreadPointer returns the thread pointer of the thread with that pthread_t.
func (t *Table) ThreadPointer(pthread uint64) (uint64, error) {
	if arch.Of(t.facts.Arch).PthreadAtTP {
		return pthread, nil
	}
	base, err := t.Pthread(pthread) // the same distance, in the other direction
	return pthread + (pthread - base), err
}

// Threads lists the threads of the target as the C library does.
func (t *Table) Threads() ([]libc.Thread, error) {
	l, err := libc.FindThreadLists(t)
	if err != nil {
		return nil, err
	}
	return l.Threads(t.facts.Memory)
}

// LWP returns the kernel thread of a pthread_t; 0 if it has ended.
func (t *Table) LWP(pthread uint64) (uint64, error) {
	l, err := libc.FindThreadLists(t)
	if err != nil {
		return 0, err
	}
	return l.ThreadID(t.facts.Memory, pthread)
}

// SharedPointers returns, by thread pointer, the indices of threads that have the same; 0 is an unknown one.
func SharedPointers(pointers []uint64) map[uint64][]int {
	first := make(map[uint64]int, len(pointers))
	var shared map[uint64][]int
	for i, tp := range pointers {
		j, twice := first[tp]
		switch {
		case tp == 0:
		case !twice:
			first[tp] = i
		case shared == nil:
			shared = map[uint64][]int{tp: {j, i}}
		case shared[tp] == nil:
			shared[tp] = []int{j, i}
		default:
			shared[tp] = append(shared[tp], i)
		}
	}
	return shared
}

// Borrowers returns the indices of the threads that execute with the control block of another one: clone made them
// without CLONE_SETTLS, so that they have its thread pointer. shared are threads by their thread pointer, and id
// returns the C library's id of a thread. If no thread of a group has the id that is in its block, the owner is
// unknown, and the group is left out.
func (t *Table) Borrowers(shared map[uint64][]int, id func(i int) uint64) (out []int) {
	for tp, group := range shared {
		if owner, ok := t.blockOwner(tp, group, id); ok {
			out = append(out, slices.DeleteFunc(group, func(i int) bool { return i == owner })...)
		}
	}
	return out
}

// blockOwner returns the one of some threads whose id is in the control block at a thread pointer.
func (t *Table) blockOwner(tp uint64, group []int, id func(i int) uint64) (owner int, ok bool) {
	block, err := t.Pthread(tp)
	if err != nil {
		return 0, false
	}
	for _, at := range libc.ThreadIDOffsets(t, t.facts.Arch) {
		var b [4]byte
		if t.facts.Memory.ReadMemory(callbacks.Addr(block+at), b[:]) != nil {
			continue
		}
		i := slices.IndexFunc(group, func(i int) bool { return id(i) == callbacks.Word(b[:]) })
		if i >= 0 {
			return group[i], true
		}
	}
	return 0, false
}

// Constant reads the first n bytes of a constant of the C library from the file of its module: the library, its
// libpthread, or a static executable.
func (t *Table) Constant(name string, n int) ([]byte, error) {
	e, s, err := t.constant(name)
	if err != nil {
		return nil, err
	}
	if e.file == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNoFile)
	}
	return e.file.DataAt(s.Value, n)
}

// constant finds a symbol in the C library, else in any module. The library does not export the names of its
// constants, so that a search of all modules would index the names of each, and an executable may have
// millions.
func (t *Table) constant(name string) (*entry, elfx.Symbol, error) {
	for _, e := range t.entries {
		if !libc.IsSystem(e.mod.Path) {
			continue
		}
		if s, ok := e.lookup(name); ok && s.Type != elf.STT_TLS {
			return e, s, nil
		}
	}
	return t.find(name, "", false)
}
