package clib

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// maxStackWords bounds the words of arguments and environment on the first stack: two million are the 16
	// MiB that a ulimit -s of 64 MiB allows.
	maxStackWords = 1 << 21
	// maxAuxv bounds the auxiliary vector; Linux has some 20 entries.
	maxAuxv = 256
	// stackStep is the number of bytes of the stack that are read at once. Pages are a multiple of it.
	stackStep = 512
)

// auxv reads the auxiliary vector from the place where the kernel puts it: after the environment on the first
// stack. The loader exports the end of that stack as __libc_stack_end. The interface has no callback for it.
func (t *target) auxv() (map[uint64]uint64, error) {
	end, err := t.askSymbol("__libc_stack_end", "")
	if err != nil {
		return nil, fmt.Errorf("finding the modules of the program: %w", err)
	}
	s := stackReader{mem: t, at: end.Offset}
	s.at, s.data = s.next(), nil // the variable's value, then its content
	if s.at%16 != 0 {            // alignment by the kernel
		return nil, fmt.Errorf("the first stack of the program ends at %#x: %w", s.at, callbacks.Incompatible)
	}
	for range s.next() + 1 { // argc, the arguments and the terminating null
		if s.next(); s.failed() {
			break
		}
	}
	for !s.failed() && s.next() != 0 { // the environment
	}
	out := map[uint64]uint64{}
	for n := 0; n < maxAuxv; n++ {
		key, value := s.next(), s.next()
		if s.failed() {
			break
		}
		if key == 0 { // AT_NULL
			return out, nil
		}
		out[key] = value
	}
	if s.err == nil {
		s.err = fmt.Errorf("no auxiliary vector after the environment: %w", callbacks.Incompatible)
	}
	return nil, fmt.Errorf("the first stack of the program, at %#x: %w", s.at, s.err)
}

// stackReader reads words, one after the other.
type stackReader struct {
	mem  callbacks.Memory
	at   uint64 // address of the next word
	data []byte // bytes from that address on
	n    int
	err  error
}

func (s *stackReader) failed() bool { return s.err != nil || s.n > maxStackWords }

// next returns the next word, or 0 after an error.
func (s *stackReader) next() uint64 {
	const word = 8
	if s.n++; s.failed() {
		return 0
	}
	if len(s.data) < word {
		s.data = make([]byte, stackStep-s.at%stackStep)
		if s.err = s.mem.ReadMemory(callbacks.Addr(s.at), s.data); s.err != nil {
			return 0
		}
	}
	v := callbacks.Word(s.data[:word])
	s.at, s.data = s.at+word, s.data[word:]
	return v
}
