package clib

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// maxSpaces bounds the address spaces at once, as the library does.
const maxSpaces = 64

// Serve serves a library until it closes its end. greeting is a text for people.
func Serve(rw io.ReadWriter, greeting string) error {
	s := &server{wire: &wire{rw: rw}, spaces: map[uint64]*space{}}
	defer s.close()
	hello := message{kind: kindHello, words: [wireWords]uint64{wireVersion}, bytes: []byte(greeting)}
	if err := s.wire.send(hello); err != nil {
		return err
	}
	for {
		m, err := s.wire.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := guarded(func() (result, error) { return s.call(m) })
		if errors.Is(err, errLost) {
			return err
		}
		if err := s.wire.send(r.message(err)); err != nil {
			return err
		}
	}
}

// server has the address spaces of a library.
type server struct {
	wire   *wire
	spaces map[uint64]*space
	last   uint64 // number of the space that was opened last
}

func (s *server) close() {
	for _, sp := range s.spaces {
		_ = sp.target.close() // files that were only read
	}
}

// result is what a routine returns behind the return code.
type result struct {
	words [wireWords - 1]uint64
	bytes []byte
}

func words(w ...uint64) result {
	var r result
	copy(r.words[:], w)
	return r
}

func (r result) message(err error) message {
	m := message{kind: kindReturn, bytes: r.bytes}
	m.words[0] = uint64(ompd.RCOf(err))
	copy(m.words[1:], r.words[:])
	if len(m.bytes) > wireBytes {
		m.bytes = m.bytes[:wireBytes]
	}
	return m
}

// guarded calls f, in which a panic is an error: the debugger is not to lose its
// library to one damaged program, nor to a file that is cut short while it is mapped.
func guarded(f func() (result, error)) (r result, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			r, err = result{}, fmt.Errorf("internal error: %v: %w", p, callbacks.Error)
		}
	}()
	return f()
}

// call runs one routine.
func (s *server) call(m message) (result, error) {
	if m.kind == kindProcess {
		return s.open(int64(m.words[1]))
	}
	sp := s.spaces[m.words[0]]
	if sp == nil {
		return result{}, fmt.Errorf("address space %d: %w", m.words[0], callbacks.StaleHandle)
	}
	if m.kind == kindRelease {
		delete(s.spaces, m.words[0])
		return result{}, sp.target.close()
	}
	routine, ok := routines[m.kind]
	if !ok {
		return result{}, fmt.Errorf("call %d: %w", m.kind, callbacks.Unsupported)
	}
	sp.target.begin()
	p, err := sp.now()
	if err != nil {
		return result{}, err
	}
	return routine(query{sp, p, m})
}

// open makes an address space for a tool that speaks a version of the interface.
// A runtime that the program has not used yet is no error: debuggers come when the
// runtime announces itself, before it has set itself up.
func (s *server) open(version int64) (result, error) {
	if len(s.spaces) == maxSpaces {
		return result{}, fmt.Errorf("more than %d address spaces: %w", maxSpaces, callbacks.NoMem)
	}
	sp := &space{target: &target{wire: s.wire}, version: version}
	if _, err := sp.now(); err != nil && !errors.As(err, new(*rtl.Dormant)) {
		_ = sp.target.close()
		return result{}, err
	}
	s.last++
	s.spaces[s.last] = sp
	return words(s.last), nil
}

// space is an address space of a tool.
type space struct {
	target  *target
	version int64
	runtime *ompd.Process // nil until the program has used it
}

// now is the program's runtime as its memory is now. Of several, the first that the
// program has used counts: the interface knows one for an address space.
func (sp *space) now() (*ompd.Process, error) {
	if sp.runtime != nil {
		return sp.runtime.Reread()
	}
	if err := sp.target.findModules(); err != nil {
		return nil, err
	}
	ps, err := ompd.Open(sp.target, ompd.Options{})
	if len(ps) == 0 {
		return nil, err
	}
	sp.runtime = ps[0]
	return ps[0], nil
}
