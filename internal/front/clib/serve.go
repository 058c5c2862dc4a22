package clib

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// maxSpaces bounds the open address spaces, as the library does.
const maxSpaces = 64

// Serve serves a library until it closes its end. greeting is a text for the user.
func Serve(rw io.ReadWriter, greeting string) error {
	s := &server{wire: &wire{rw: rw}, spaces: map[uint64]*space{}, debugger: findPeer(rw)}
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
		r, err := guard(func() (result, error) { return s.call(m) })
		if errors.Is(err, errLost) {
			return err
		}
		if err := s.wire.send(r.message(err)); err != nil {
			return err
		}
	}
}

// server contains the address spaces of a library.
type server struct {
	wire   *wire
	spaces map[uint64]*space
	last   uint64 // number of the last opened space

	debugger int // process that loaded the library; 0 if it is not known
}

func (s *server) close() {
	for _, sp := range s.spaces {
		_ = sp.target.close() // the files were only read
	}
}

// result contains the results of a routine, without the return code.
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

// guard calls f and turns a panic into an error: the debugger must not lose its library because of one damaged
// program, or of a file that is truncated while it is mapped.
func guard(f func() (result, error)) (r result, err error) {
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
	p, err := sp.refresh(sp.target.begin())
	if dormant := (*rtl.Dormant)(nil); errors.As(err, &dormant) && dormantRoutines[m.kind] != nil {
		return dormantRoutines[m.kind](sp, m, dormant)
	}
	if err != nil {
		return result{}, err
	}
	r, err := routine(query{sp, p, m})
	if sp.target.late != nil {
		r, err = result{}, sp.target.late
	}
	if err != nil {
		sp.current = nil // it may have kept the error
	}
	return r, err
}

// open opens an address space for a tool with a version of the interface. A runtime that the program has not
// used yet is not an error: debuggers connect when the runtime announces itself, before it is initialized.
func (s *server) open(version int64) (result, error) {
	if len(s.spaces) == maxSpaces {
		return result{}, fmt.Errorf("more than %d address spaces: %w", maxSpaces, callbacks.NoMem)
	}
	sp := &space{target: &target{wire: s.wire, proof: standing{debugger: s.debugger}}, version: version}
	if _, err := sp.refresh(false); err != nil && !errors.As(err, new(*rtl.Dormant)) {
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
	current *ompd.Process // the state of the last read; nil if it must be read again
}

// refresh returns the program's runtime in its current state. If there are several, the first one that the
// program has used counts: the interface has one per address space. stood reports whether the program has not
// run since the previous routine.
func (sp *space) refresh(stood bool) (p *ompd.Process, err error) {
	if stood && sp.current != nil {
		return sp.current, nil
	}
	sp.current = nil
	if sp.runtime != nil {
		p, err = sp.runtime.Reread()
	} else if err = sp.target.findModules(); err == nil {
		p, err = sp.openRuntime()
	}
	if err == nil && sp.target.late != nil {
		err = sp.target.late
	}
	if err != nil {
		return nil, err
	}
	sp.current = p
	return p, nil
}

// openRuntime opens the runtime.
func (sp *space) openRuntime() (*ompd.Process, error) {
	ps, err := ompd.Open(sp.target, ompd.Options{})
	if len(ps) == 0 {
		return nil, err
	}
	sp.runtime = ps[0]
	return ps[0], nil
}
