// Package clib is the part of the C library libompd.so that is not in C: it serves
// the library, which lends it the callbacks of the debugger that loaded it.
//
// The library (directory libompd) checks arguments, holds handles and memory of
// the tool's own allocator, and sends each routine as a message to the process
// that runs Serve. While a routine runs, the process asks for the tool's callbacks
// and gets an answer to each. Nothing else may call them, so what was read is
// forgotten when the routine ends.
package clib

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// The numbers of libompd/wire.h.
const (
	wireVersion = 2
	wireWords   = 6
	wireBytes   = 64 << 10
	wirePieces  = 64
)

// kind is the kind of a message.
type kind uint32

// The messages about a call.
const (
	kindHello kind = iota + 1
	kindReturn
	kindRead
	kindSymbol
	kindAnswer
	kindReads
)

// The calls.
const (
	kindProcess kind = iota + 64
	kindRelease
	kindOMPVersion
	kindOMPVersionString
	kindThreadIDKinds
	kindThreadHandle
	kindThreadID
	kindThreadInParallel
	kindCurrParallel
	kindEnclosingParallel
	kindTaskParallel
	kindCurrTask
	kindGeneratingTask
	kindSchedulingTask
	kindTaskInParallel
	kindTaskFunction
	kindTaskFrame
	kindNextState
	kindState
	kindControlVars
	kindNextICV
	kindICV
	kindICVString
	kindToolData
)

// header is struct wire_message: two numbers of 32 bits and the words.
const header = 8 + 8*wireWords

// message is one message.
type message struct {
	kind  kind
	words [wireWords]uint64
	bytes []byte
}

// wire is the connection with the library: one message after the other, in either
// direction.
type wire struct {
	rw  io.ReadWriter
	buf []byte
}

// send sends a message.
func (w *wire) send(m message) error {
	if len(m.bytes) > wireBytes {
		return fmt.Errorf("message of %d bytes, more than %d", len(m.bytes), wireBytes)
	}
	order := binary.NativeEndian
	b := order.AppendUint32(w.buf[:0], uint32(m.kind))
	b = order.AppendUint32(b, uint32(len(m.bytes)))
	for _, v := range m.words {
		b = order.AppendUint64(b, v)
	}
	w.buf = append(b, m.bytes...)
	_, err := w.rw.Write(w.buf)
	return err
}

// receive receives a message. Its bytes are the caller's.
func (w *wire) receive() (message, error) {
	var m message
	var head [header]byte
	if _, err := io.ReadFull(w.rw, head[:]); err != nil {
		return m, err
	}
	order := binary.NativeEndian
	m.kind = kind(order.Uint32(head[:]))
	size := order.Uint32(head[4:])
	if size > wireBytes {
		return m, fmt.Errorf("message of %d bytes, more than %d", size, wireBytes)
	}
	for i := range m.words {
		m.words[i] = order.Uint64(head[8+8*i:])
	}
	m.bytes = make([]byte, size)
	_, err := io.ReadFull(w.rw, m.bytes)
	return m, err
}

// ask asks for a callback. The error is that of the connection, or says with which
// code the callback failed.
func (w *wire) ask(q message) (message, error) {
	if err := w.send(q); err != nil {
		return message{}, fmt.Errorf("%w: %w", errLost, err)
	}
	a, err := w.receive()
	switch {
	case err != nil:
		return a, fmt.Errorf("%w: %w", errLost, err)
	case a.kind != kindAnswer:
		return a, fmt.Errorf("%w: message %d is no answer", errLost, a.kind)
	case a.words[0] != 0:
		return a, callbackError(a.words[0])
	}
	return a, nil
}

// errLost says that the library is gone, or does not keep to the protocol.
var errLost = fmt.Errorf("the connection with libompd.so is lost: %w", callbacks.Error)

// callbackError is the code of a callback that failed.
type callbackError uint64

// Error names the code.
func (e callbackError) Error() string {
	return fmt.Sprintf("a callback of the debugger failed: %v", callbacks.RC(min(uint64(e), 255)))
}

// Unwrap is the return code for the routine: that memory could not be read is an
// answer of the target, everything else the callback's own fault.
func (e callbackError) Unwrap() error {
	if callbacks.RC(min(uint64(e), 255)) == callbacks.DeviceReadError {
		return callbacks.DeviceReadError
	}
	return callbacks.CallbackError
}
