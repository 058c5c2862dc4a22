package waits

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// freedMemory finds memory that does not belong to the program any more.
type freedMemory struct {
	about   *picture.Target
	target  callbacks.Target
	roster  *teams.ThreadTable
	code    *stacks.Code
	library func() *libc.Library
	known   map[uint64]string // results of FreedReason
}

// FreedReason explains why the memory at addr does not belong to the program any more. It returns "" if it does,
// or without a proof. The evidence was read: mappings, stack pointers and control blocks of threads, or the
// records of glibc's malloc about free memory.
func (f *freedMemory) FreedReason(addr uint64) string {
	if addr == 0 || f.code.ModuleOf(addr) != nil {
		return ""
	}
	why, ok := f.known[addr]
	if !ok {
		why = f.findReason(addr)
		f.known[addr] = why
	}
	return why
}

func (f *freedMemory) findReason(addr uint64) string {
	maps := stacks.MappingsOf(f.target)
	m := libc.MappingAt(maps, addr)
	switch {
	case m == nil && len(maps) > 0 && f.allMapped():
		return fmt.Sprintf("no memory is mapped at %v: it was returned to the system", picture.Hex(addr))
	case m == nil:
		return ""
	}
	if why := f.stackReason(m, addr); why != "" {
		return why
	}
	b, err := f.library().FreedBlock(m, addr)
	if err != nil { // there is no proof that it was freed
		return ""
	}
	return freedWords(b)
}

// freedWords describes a freed block.
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

// allMapped reports whether the target lists all mappings. The cores that debuggers write omit some.
func (f *freedMemory) allMapped() bool {
	about := f.about
	return about.Kind == picture.TargetProcess || about.Kind == picture.TargetCore && about.Producer == "kernel"
}

// stackReason explains that addr, in mapping m, is in an unused part of a stack: below the stack pointer of its
// thread, or in the stack of a thread that has ended. It returns "" without a proof.
func (f *freedMemory) stackReason(m *callbacks.Mapping, addr uint64) string {
	s, err := f.library().StackAt(m, addr)
	switch {
	case err != nil: // it is in no known stack
		return ""
	case s.Ended():
		const words = "it lies in the stack of a thread that has ended: " +
			"the thread control block at %v belongs to no thread that exists"
		return fmt.Sprintf(words, picture.Hex(s.Block))
	}
	return f.belowStackPointer(s, addr)
}

// belowStackPointer explains that addr is below the frames of a stack's thread. It returns "" for a thread that
// runs elsewhere, as in a signal handler.
func (f *freedMemory) belowStackPointer(s libc.Stack, addr uint64) string {
	n := f.roster.ByLWP[int(s.Thread.LWP)]
	if n == nil {
		return ""
	}
	regs := n.Registers()
	if regs == nil || regs.SP() < s.Low || regs.SP() >= s.High || addr >= regs.SP()-arch.Of(regs.Arch).RedZone {
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
