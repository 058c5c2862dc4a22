package pycode

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Lock is a lock of interpreters (GIL). Up to 3.11, all interpreters share one.
type Lock struct {
	Address     uint64 // of its record, struct _gil_runtime_state
	Interpreter int64  // number of the first interpreter that uses it
	Condition   uint64 // the condition variable on which threads sleep that wait for the lock
	Holder      uint64 // the thread state that holds it; 0 if it is free, or changes at the moment
}

// Offsets in the record of a lock (struct _gil_runtime_state). A free-threaded interpreter has another word before
// them. Source: pycore_gil.h (3.7: internal/ceval.h), the same in 3.7 to 3.15.
const (
	lockInterval  = 0  // duration of a sleep, in microseconds
	lockHolder    = 8  // thread state that acquired it last
	lockLocked    = 16 // int: 1 locked, 0 free, -1 before its first use
	lockCondition = 32
	lockMutex     = 80 // int: not 0 while the other fields change
	lockSize      = 84

	// maxInterval is longer than any configured duration: a minute.
	maxInterval = 60_000_000
)

// ConditionSize is the size of a condition variable of glibc in bytes.
const ConditionSize = 48

// Locks returns the locks of all interpreters, each once. Those that are switched off in a free-threaded interpreter
// are left out. With an error, it returns those that could be read.
func (p *Runtime) Locks() ([]Lock, error) {
	if p.l.lock != 0 {
		l, ok, err := p.lock(p.address + p.l.lock)
		if err != nil || !ok {
			return nil, err
		}
		return []Lock{l}, nil
	}
	var out []Lock
	interpreters, err := p.interpreters()
	seen := map[uint64]bool{}
	for _, interpreter := range interpreters {
		at, err := p.word(interpreter + p.l.lockPointer)
		if err != nil {
			return out, err
		}
		if at == 0 || seen[at] { // an interpreter that is about to start, or shares a lock
			continue
		}
		seen[at] = true
		l, ok, err := p.lock(at)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		number, err := p.word(interpreter + p.l.interpreterID)
		if err != nil {
			return out, err
		}
		l.Interpreter = int64(number)
		out = append(out, l)
	}
	return out, err
}

// lock reads the record of a lock. It is not ok if the lock is switched off, or was never used.
func (p *Runtime) lock(at uint64) (l Lock, ok bool, err error) {
	var room [8 + lockSize]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), room[:]); err != nil {
		return Lock{}, false, fmt.Errorf("reading the lock of the interpreter: %w", err)
	}
	b, start := room[:], at
	if p.l.freeThreaded {
		if uint32(word(b, 0)) == 0 { // enabled
			return Lock{}, false, nil
		}
		b, start = b[8:], at+8
	}
	interval, locked := word(b, lockInterval), int32(word(b, lockLocked))
	if interval == 0 || interval > maxInterval || locked < -1 || locked > 1 {
		return Lock{}, false, fmt.Errorf("the lock of the interpreter at %#x has interval %d and state %d: %w", at,
			interval, locked, ErrDamaged)
	}
	l = Lock{Address: at, Condition: start + lockCondition}
	if locked == 1 && uint32(word(b, lockMutex)) == 0 {
		l.Holder = word(b, lockHolder)
	}
	return l, locked >= 0, nil
}
