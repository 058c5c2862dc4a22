package inspect

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// redZone is what code may use below its stack pointer (System V ABI).
const redZone = 128

// reclaimed finds memory that is not the program's any more.
type reclaimed struct {
	about   *picture.Target
	target  callbacks.Target
	roster  *roster
	code    *stacks.Code
	library func() *libc.Library
	known   map[uint64]string // what was said of an address
}

// FreedReason says why the memory at addr is not the program's any more, in words for
// people; empty if it is, or if nothing proves that it is not. What it says was
// read: of the mappings, of the stack pointers and control blocks of the threads, or
// of what glibc's malloc keeps of free memory.
func (f *reclaimed) FreedReason(addr uint64) string {
	if addr == 0 || f.code.ModuleOf(addr) != nil {
		return ""
	}
	why, ok := f.known[addr]
	if !ok {
		why = f.reason(addr)
		f.known[addr] = why
	}
	return why
}

func (f *reclaimed) reason(addr uint64) string {
	maps := stacks.MappingsOf(f.target)
	m := libc.MappingAt(maps, addr)
	switch {
	case m == nil && len(maps) > 0 && f.allMapped():
		return fmt.Sprintf("no memory is mapped at %v: it was returned to the system", picture.Hex(addr))
	case m == nil:
		return ""
	}
	if why := f.returnedFrom(m, addr); why != "" {
		return why
	}
	b, err := f.library().FreedBlock(m, addr)
	if err != nil { // nothing proves that it was freed
		return ""
	}
	return freedWords(b)
}

// freedWords says what is known of a freed block.
func freedWords(b libc.Block) string {
	keeper := "a list of free blocks"
	switch b.Place {
	case libc.AtTop:
		const words = "it lies in the part of the heap that malloc has not allocated, from %v on: it was freed"
		return fmt.Sprintf(words, picture.Hex(b.Low))
	case libc.InCache:
		keeper = "a thread's cache of free blocks"
	}
	const words = "it lies in a block of %d bytes at %v, which was freed: it is in %s"
	return fmt.Sprintf(words, b.High-b.Low, picture.Hex(b.Low), keeper)
}

// allMapped reports whether the target lists all that is mapped: debuggers leave out
// of their cores what they do not write.
func (f *reclaimed) allMapped() bool {
	about := f.about
	return about.Kind == picture.TargetProcess || about.Kind == picture.TargetCore && about.Producer == "kernel"
}

// returnedFrom says that addr, in mapping m, lies in a part of a stack that no
// function uses any more: below the stack pointer of its thread, or in the stack of a
// thread that has ended. It is empty if nothing proves that.
func (f *reclaimed) returnedFrom(m *callbacks.Mapping, addr uint64) string {
	s, err := f.library().StackAt(m, addr)
	switch {
	case err != nil: // it is in no stack that is known
		return ""
	case s.Ended():
		const words = "it lies in the stack of a thread that has ended: " +
			"the thread control block at %v belongs to no thread that exists"
		return fmt.Sprintf(words, picture.Hex(s.Block))
	}
	return f.belowStackPointer(s, addr)
}

// belowStackPointer says that addr lies below the frames of the thread of a stack. Of
// one that runs elsewhere, as in a signal's handler, nothing is said.
func (f *reclaimed) belowStackPointer(s libc.Stack, addr uint64) string {
	n := f.roster.byLWP[int(s.Thread.LWP)]
	if n == nil {
		return ""
	}
	regs := n.Registers()
	if regs == nil || regs.SP() < s.Low || regs.SP() >= s.High || addr >= regs.SP()-redZone {
		return ""
	}
	for _, f := range n.Stack().Frames {
		if f.CFA != 0 && f.CFA < regs.SP() {
			return ""
		}
	}
	const words = "it lies in the stack of LWP %d, %d bytes below its stack pointer: " +
		"the function that had it there has returned"
	return fmt.Sprintf(words, n.LWP, regs.SP()-addr)
}
