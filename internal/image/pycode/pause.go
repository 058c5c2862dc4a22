package pycode

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Pause is a pause of all Python threads of a free-threaded interpreter ("stop the world"): for a garbage collection,
// a change of a class, or a fork. The requester waits until each attached thread has reached a point at which it can
// stop.
type Pause struct {
	Address   uint64 // of its record, struct _stoptheworld_state
	Requester uint64 // the thread state that requested it
	Reached   bool   // all threads have stopped
	// Interpreter is the address of the interpreter whose threads pause; 0 for those of all interpreters.
	Interpreter uint64
}

// pauseOffsets has the offsets of struct _stoptheworld_state of free-threaded interpreters, which are not in
// _Py_DebugOffsets. Sources: pycore_interp.h (3.14 and later: pycore_interp_structs.h), pycore_runtime.h (3.14 and
// later: pycore_runtime_structs.h), cpython/pystate.h.
type pauseOffsets struct {
	inRuntime, inInterpreter uint64
	threadState              uint64 // in PyThreadState: int, whether the thread is attached
}

var pauses = map[int]pauseOffsets{
	13: {10336, 10744, 40},
	14: {10552, 10848, 44},
	15: {10672, 10800, 48},
}

// States of threads of a free-threaded interpreter.
const (
	Detached  = 0 // in code without access to Python's objects
	Attached  = 1
	Suspended = 2 // stopped by a pause; it continues in code without access to Python's objects
)

// Offsets in a record of a pause. The first byte is a mutex (bit 0: locked), which the requester holds.
const (
	pauseRequested = 1
	pauseReached   = 2
	pauseGlobal    = 3
	pauseCountdown = 8
	pauseRequester = 16
	pauseSize      = 24
)

// Pauses returns the pauses that threads have requested and not ended. threads are those that Threads returned. A
// record that contradicts them is an error: offsets may have changed.
func (p *Runtime) Pauses(threads []Thread) ([]Pause, error) {
	o, ok := pauses[p.l.minor]
	if !p.l.freeThreaded || !ok {
		return nil, nil
	}
	var out []Pause
	add := func(at, interpreter uint64) error {
		pause, ok, err := p.pause(at, interpreter, threads)
		if ok {
			out = append(out, pause)
		}
		return err
	}
	if err := add(p.address+o.inRuntime, 0); err != nil {
		return nil, err
	}
	interpreters, err := p.interpreters()
	for _, interpreter := range interpreters {
		if err := add(interpreter+o.inInterpreter, interpreter); err != nil {
			return out, err
		}
	}
	return out, err
}

// pause reads the record of a pause. It is not ok if no pause is requested.
func (p *Runtime) pause(at, interpreter uint64, threads []Thread) (pause Pause, ok bool, err error) {
	var b [pauseSize]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
		return Pause{}, false, fmt.Errorf("reading the state of a pause: %w", err)
	}
	requested, reached, global := b[pauseRequested], b[pauseReached], b[pauseGlobal]
	countdown, requester := word(b[:], pauseCountdown), word(b[:], pauseRequester)
	if requested > 1 || reached > 1 || (global == 1) != (interpreter == 0) || global > 1 {
		return Pause{}, false, fmt.Errorf("the state of a pause at %#x is %x: %w", at, b, ErrDamaged)
	}
	if requested == 0 && reached == 0 || requester == 0 {
		return Pause{}, false, nil
	}
	listed := slices.ContainsFunc(threads, func(t Thread) bool { return t.Address == requester })
	if !listed || countdown > uint64(len(threads)) || b[0]&1 == 0 {
		return Pause{}, false, fmt.Errorf("a pause at %#x was requested by thread %#x, and waits for %d threads: %w",
			at, requester, countdown, ErrDamaged)
	}
	return Pause{Address: at, Requester: requester, Reached: requested == 0, Interpreter: interpreter}, true, nil
}
