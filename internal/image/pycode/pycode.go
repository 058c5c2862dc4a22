// Package pycode reads the Python stacks of CPython 3.7 to 3.15 in a process or a core, without debug information:
// thread states, and the frames of each with function, file and line.
//
// Since 3.10 each call of the interpreter's C function has a structure of CPython in its native frame, the mark of a
// Call. A native frame with the mark between its stack pointer and its CFA runs the Python frames of the Call. Before
// 3.10, Calls have no mark, and one frame each.
//
// Offsets are the interpreter's own (_Py_DebugOffsets) from 3.13 on, and a table of this package for older releases.
// Objects are checked by their types; reads and lists are bounded.
package pycode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Errors of this package.
var (
	ErrRelease = errors.New("unknown release")
	ErrDamaged = errors.New("damaged interpreter")
)

// Bounds on reads.
const (
	maxInterpreters = 1 << 10
	maxThreads      = 1 << 16
	maxFrames       = 10_000 // of a thread; CPython's own limit of recursion is 1,000 by default
	maxText         = 4 << 10
	maxLines        = 1 << 20 // bytes of a line table
	maxThreadCodes  = 1 << 16 // copies of code in a free-threaded interpreter

	threadSize = 256 // bytes of a thread state that are read
	frameSize  = 112
	codeSize   = 256
)

// Config is the input of Open.
type Config struct {
	Memory callbacks.Memory
	// Lookup returns the address of an exported symbol of the interpreter's module.
	Lookup func(name string) (uint64, bool)
	// Minor is the release 3.Minor by the name of the module's file, for interpreters before 3.11; 0 if it has none.
	Minor int
}

// Runtime is the interpreter runtime (_PyRuntime) of a module.
type Runtime struct {
	mem      callbacks.Memory
	l        layout
	address  uint64
	source   string
	version  uint64 // PY_VERSION_HEX, 0 if unknown
	types    struct{ code, text, bytes, tuple, dict, module, integer uint64 }
	codes    map[uint64]*code
	classes  map[uint64]class
	tables   map[uint64]keyTable
	places   map[keyPlace]uint64 // of keys that were found
	secret   *[2]uint64          // the key of hashes, once it was read
	secretAt uint64
}

// code is a code object.
type code struct {
	name, file                string
	lines                     []byte
	first, traceable          int
	instructions, threadCodes uint64
	err                       error
}

// Thread is a thread state (PyThreadState).
type Thread struct {
	Address     uint64
	Interpreter uint64
	Pthread     uint64 // the pthread_t of its thread
	NativeID    uint64 // the kernel's number of the thread, which os.fork renews; 0 before 3.11
	State       int    // of a free-threaded interpreter: Detached, Attached or Suspended
}

// Frame is a Python frame.
type Frame struct {
	Function string // the qualified name from 3.11 on
	File     string // as the interpreter has it
	Line     int    // 0 without one

	code uint64 // the code object
	at   int    // the offset in bytes of the present instruction
}

// Call is a call of the interpreter's C function, with its Python frames, innermost first.
type Call struct {
	Mark   uint64 // an address in its native frame; 0 before 3.10
	Frames []Frame
}

// debugCookie begins _PyRuntime from 3.13 on.
const debugCookie = "xdebugpy"

// Open finds the interpreter runtime of a module. It returns nil without an error if the module has none.
func Open(c Config) (*Runtime, error) {
	at, ok := c.Lookup("_PyRuntime")
	if !ok {
		return nil, nil
	}
	p := &Runtime{mem: c.Memory, address: at, codes: map[uint64]*code{}, classes: map[uint64]class{},
		tables: map[uint64]keyTable{}, places: map[keyPlace]uint64{}}
	var cookie [len(debugCookie)]byte
	if err := c.Memory.ReadMemory(callbacks.Addr(at), cookie[:]); err != nil {
		return nil, fmt.Errorf("reading _PyRuntime: %w", err)
	}
	minor := c.Minor
	if v, ok := c.Lookup("Py_Version"); ok {
		if version, err := p.word(v); err == nil {
			p.version = version & 0xffffffff
			minor = int(version >> 16 & 0xff)
		}
	}
	if string(cookie[:]) == debugCookie {
		l, err := ownLayout(c.Memory, at)
		if err != nil {
			return nil, err
		}
		p.l, p.source = l, "the interpreter's own table"
	} else if p.l, ok = older[minor]; ok {
		p.source = "the tool's table of releases"
	} else {
		return nil, fmt.Errorf("CPython 3.%d: %w", minor, ErrRelease)
	}
	p.types.code, _ = c.Lookup("PyCode_Type")
	p.types.text, _ = c.Lookup("PyUnicode_Type")
	p.types.bytes, _ = c.Lookup("PyBytes_Type")
	p.types.tuple, _ = c.Lookup("PyTuple_Type")
	p.types.dict, _ = c.Lookup("PyDict_Type")
	p.types.module, _ = c.Lookup("PyModule_Type")
	p.types.integer, _ = c.Lookup("PyLong_Type")
	p.secretAt, _ = c.Lookup("_Py_HashSecret")
	return p, nil
}

// Release returns the release, such as "3.11.2", or "3.9" before 3.11.
func (p *Runtime) Release() string {
	name := fmt.Sprintf("3.%d", p.l.minor)
	if p.version != 0 {
		name += fmt.Sprintf(".%d", p.version>>8&0xff)
	}
	if p.l.freeThreaded {
		name += " free-threaded"
	}
	return name
}

// Source names the source of the offsets.
func (p *Runtime) Source() string { return p.source }

// Marked reports whether calls have marks.
func (p *Runtime) Marked() bool { return p.l.minor >= 10 }

// Threads returns the thread states of all interpreters. With an error, it returns those that could be read.
func (p *Runtime) Threads() ([]Thread, error) {
	var out []Thread
	interpreters, err := p.interpreters()
	for _, interpreter := range interpreters {
		at, err := p.word(interpreter + p.l.threads)
		for at != 0 && err == nil {
			if len(out) == maxThreads {
				return out, fmt.Errorf("more than %d threads: %w", maxThreads, ErrDamaged)
			}
			var t Thread
			t, at, err = p.thread(at, interpreter)
			if err == nil {
				out = append(out, t)
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, err
}

// interpreters returns the addresses of all interpreters. With an error, it returns those that could be read.
func (p *Runtime) interpreters() ([]uint64, error) {
	var out []uint64
	at, err := p.word(p.address + p.l.interpreters)
	for at != 0 && err == nil {
		if len(out) == maxInterpreters {
			return out, fmt.Errorf("more than %d interpreters: %w", maxInterpreters, ErrDamaged)
		}
		out = append(out, at)
		at, err = p.word(at + p.l.interpreterNext)
	}
	return out, err
}

// thread reads a thread state, and the address of the next one.
func (p *Runtime) thread(at, interpreter uint64) (Thread, uint64, error) {
	var b [threadSize]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
		return Thread{}, 0, fmt.Errorf("reading a thread of the interpreter: %w", err)
	}
	if back := word(b[:], threadInterpreter); back != interpreter {
		return Thread{}, 0, fmt.Errorf("thread %#x belongs to interpreter %#x, and is listed by %#x: %w", at, back,
			interpreter, ErrDamaged)
	}
	t := Thread{Address: at, Interpreter: interpreter, Pthread: word(b[:], p.l.threadID)}
	if p.l.minor >= 11 {
		t.NativeID = word(b[:], p.l.threadID+8)
	}
	if o, ok := pauses[p.l.minor]; ok && p.l.freeThreaded {
		t.State = int(int32(word(b[:], o.threadState)))
	}
	return t, word(b[:], p.l.threadNext), nil
}

// Calls returns the calls of the interpreter's C function by a thread, innermost first, without those whose frames
// are all hidden. With an error, it returns those that could be read; the last one may lack outer frames.
func (p *Runtime) Calls(t Thread) ([]Call, error) {
	switch {
	case p.l.minor >= 13:
		return p.callsByEntries(t)
	case p.l.minor >= 11:
		return p.callsByCFrames(t)
	}
	return p.callsByFrames(t)
}

// callsByEntries reads the calls of 3.13 and later: one chain of frames, in which an entry frame, itself on the C
// stack, ends each call.
func (p *Runtime) callsByEntries(t Thread) ([]Call, error) {
	var out []Call
	var inner []Frame
	at, err := p.word(t.Address + p.l.frame)
	for range maxFrames {
		if err != nil || at == 0 {
			return appendCall(out, 0, inner), err
		}
		var f frame
		if f, err = p.frame(at); err != nil {
			continue
		}
		if f.owner >= ownedByC {
			out, inner = appendCall(out, at, inner), nil
		} else if !f.hidden {
			inner = append(inner, f.Frame)
		}
		at = f.previous
	}
	return appendCall(out, 0, inner), fmt.Errorf("a stack of more than %d frames: %w", maxFrames, ErrDamaged)
}

// callsByCFrames reads the calls of 3.11 and 3.12: a list of structures on the C stack, each with the chain of the
// frames of its call. The last one has no next one, and no call.
func (p *Runtime) callsByCFrames(t Thread) ([]Call, error) {
	var out []Call
	n := 0
	mark, err := p.word(t.Address + p.l.cframe)
	for err == nil && mark != 0 {
		var at, next uint64
		if next, err = p.word(mark + p.l.cframeNext); err != nil || next == 0 {
			break
		}
		var inner []Frame
		at, err = p.word(mark + p.l.cframeFrame)
		for at != 0 && err == nil {
			if n++; n > maxFrames {
				err = fmt.Errorf("a stack of more than %d frames: %w", maxFrames, ErrDamaged)
				break
			}
			var f frame
			if f, err = p.frame(at); err != nil || f.owner >= ownedByC {
				break
			}
			if !f.hidden {
				inner = append(inner, f.Frame)
			}
			if at = f.previous; f.entry {
				break
			}
		}
		out = appendCall(out, mark, inner)
		if n++; n > maxFrames {
			break // a list without an end
		}
		mark = next
	}
	return out, err
}

// callsByFrames reads the calls up to 3.10: each frame is one. In 3.10 the n-th frame has the n-th mark.
func (p *Runtime) callsByFrames(t Thread) ([]Call, error) {
	var out []Call
	mark := uint64(0)
	at, err := p.word(t.Address + p.l.frame)
	if err == nil && p.l.cframe != 0 {
		mark, err = p.word(t.Address + p.l.cframe)
	}
	for range maxFrames {
		if err != nil || at == 0 {
			return out, err
		}
		var f frame
		if f, err = p.frame(at); err != nil {
			continue
		}
		out = append(out, Call{mark, []Frame{f.Frame}})
		if at = f.previous; mark != 0 {
			mark, err = p.word(mark + p.l.cframeNext)
		}
	}
	return out, fmt.Errorf("a stack of more than %d frames: %w", maxFrames, ErrDamaged)
}

// appendCall appends a call, if it has frames.
func appendCall(calls []Call, mark uint64, frames []Frame) []Call {
	if len(frames) == 0 {
		return calls
	}
	return append(calls, Call{mark, frames})
}

// frame is a frame with its place in the chain.
type frame struct {
	Frame
	previous uint64
	owner    byte
	entry    bool
	hidden   bool // it has not begun
}

// Owners of frames (enum _frameowner).
const (
	ownedByGenerator = 1
	ownedByC         = 3 // and higher: no Python code
)

// frame reads the frame at an address.
func (p *Runtime) frame(at uint64) (frame, error) {
	var b [frameSize]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
		return frame{}, fmt.Errorf("reading a Python frame: %w", err)
	}
	f := frame{previous: word(b[:], p.l.previous)}
	if p.l.owner != 0 {
		f.owner = b[p.l.owner]
	}
	if f.owner >= ownedByC {
		return f, nil
	}
	f.entry = p.l.entry != 0 && b[p.l.entry] != 0
	const tags = 3 // of a reference, from 3.14 on
	address := word(b[:], p.l.code) &^ tags
	c := p.code(address)
	if c.err != nil {
		return frame{}, c.err
	}
	offset, err := p.offset(b[:], c)
	if err != nil {
		return frame{}, err
	}
	f.hidden = p.l.firstTraceable != 0 && f.owner != ownedByGenerator && int64(offset) < int64(c.traceable*unitSize)
	f.Frame = Frame{Function: c.name, File: c.file, Line: lineOf(p.l.minor, c.lines, c.first, int(int64(offset))),
		code: address, at: int(int64(offset))}
	return f, nil
}

// offset returns the offset in bytes of a frame's present instruction in its code. It is negative for a frame that has
// not begun.
func (p *Runtime) offset(b []byte, c *code) (uint64, error) {
	if p.l.minor < 11 {
		last := int64(int32(word(b, p.l.instruction)))
		if p.l.minor == 10 {
			last *= unitSize
		}
		return uint64(last), nil
	}
	base := c.instructions
	if p.l.threadCode != 0 && c.threadCodes != 0 { // each thread has a copy of the code
		index := word(b, p.l.threadCodeIndex) & 0xffffffff
		if index >= maxThreadCodes {
			return 0, fmt.Errorf("copy %d of code: %w", index, ErrDamaged)
		}
		own, err := p.word(c.threadCodes + 8 + 8*index)
		if err != nil {
			return 0, err
		}
		base = own
	}
	return word(b, p.l.instruction) - base, nil
}

// code returns the code object at an address.
func (p *Runtime) code(at uint64) *code {
	if c := p.codes[at]; c != nil {
		return c
	}
	c := &code{}
	p.codes[at] = c
	var b [codeSize]byte
	if c.err = p.mem.ReadMemory(callbacks.Addr(at), b[:]); c.err != nil {
		c.err = fmt.Errorf("reading a code object: %w", c.err)
		return c
	}
	if c.err = p.checkType(b[:], p.types.code, "code object", at); c.err != nil {
		return c
	}
	if c.name, c.err = p.text(word(b[:], p.l.name)); c.err != nil {
		return c
	}
	if c.file, c.err = p.text(word(b[:], p.l.file)); c.err != nil {
		return c
	}
	if c.lines, c.err = p.bytes(word(b[:], p.l.lines)); c.err != nil {
		return c
	}
	c.first = int(int32(word(b[:], p.l.firstLine)))
	c.instructions = at + p.l.instructions
	if p.l.firstTraceable != 0 {
		c.traceable = int(int32(word(b[:], p.l.firstTraceable)))
	}
	if p.l.threadCode != 0 {
		c.threadCodes = word(b[:], p.l.threadCode)
	}
	return c
}

// checkType checks the type of an object, given its first bytes.
func (p *Runtime) checkType(b []byte, want uint64, what string, at uint64) error {
	if got := word(b, p.l.objectType); want != 0 && got != want {
		return fmt.Errorf("the object at %#x is no %s: its type is %#x: %w", at, what, got, ErrDamaged)
	}
	return nil
}

// text reads a str object. Names and files are compact: their text follows the header.
func (p *Runtime) text(at uint64) (string, error) {
	var room [80]byte
	b := room[:max(p.l.textOther, p.l.textState+8)]
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return "", fmt.Errorf("reading a name: %w", err)
	}
	if err := p.checkType(b, p.types.text, "str", at); err != nil {
		return "", err
	}
	state := uint32(word(b, p.l.textState)) >> p.l.textKind
	size, compact, ascii := uint64(state&7), state>>3&1 != 0, state>>4&1 != 0
	n := word(b, p.l.textLength)
	if !compact || size != 1 && size != 2 && size != 4 || n > maxText {
		return "", fmt.Errorf("the str at %#x has %d characters of %d bytes: %w", at, n, size, ErrDamaged)
	}
	start := at + p.l.textOther
	if ascii {
		start = at + p.l.textASCII
	}
	chars := make([]byte, n*size)
	if err := p.mem.ReadMemory(callbacks.Addr(start), chars); err != nil {
		return "", fmt.Errorf("reading a name: %w", err)
	}
	out := make([]rune, n)
	for i := range out {
		var c [4]byte
		copy(c[:], chars[uint64(i)*size:][:size])
		out[i] = rune(binary.LittleEndian.Uint32(c[:]))
	}
	return string(out), nil
}

// bytes reads a bytes object.
func (p *Runtime) bytes(at uint64) ([]byte, error) {
	var room [64]byte
	if p.l.bytesText > uint64(len(room)) {
		return nil, fmt.Errorf("a header of %d bytes: %w", p.l.bytesText, ErrDamaged)
	}
	b := room[:p.l.bytesText]
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return nil, fmt.Errorf("reading a table of lines: %w", err)
	}
	if err := p.checkType(b, p.types.bytes, "bytes object", at); err != nil {
		return nil, err
	}
	n := word(b, p.l.bytesLength)
	if n > maxLines {
		return nil, fmt.Errorf("a table of lines of %d bytes: %w", n, ErrDamaged)
	}
	out := make([]byte, n)
	if err := p.mem.ReadMemory(callbacks.Addr(at+p.l.bytesText), out); err != nil {
		return nil, fmt.Errorf("reading a table of lines: %w", err)
	}
	return out, nil
}

// word reads a word of the interpreter.
func (p *Runtime) word(at uint64) (uint64, error) {
	var b [8]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
		return 0, fmt.Errorf("reading the interpreter: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// word returns the word at an offset of b, 0 beyond its end.
func word(b []byte, at uint64) uint64 {
	var w [8]byte
	if at < uint64(len(b)) {
		copy(w[:], b[at:])
	}
	return binary.LittleEndian.Uint64(w[:])
}
