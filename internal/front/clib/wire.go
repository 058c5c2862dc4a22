// Package clib implements the Go part of the C library libompd.so. It serves the library, which forwards the
// callbacks of the debugger that loaded it.
//
// The library (directory libompd) checks arguments, keeps handles and memory of the tool's own allocator, and
// sends each routine as a message to the process that runs Serve. While a routine runs, the process calls the
// tool's callbacks by messages and gets an answer to each. They cannot be called otherwise, so the read memory
// is forgotten when the routine ends.
package clib

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Numbers of libompd/wire.h.
const (
	wireVersion = 2
	wireWords   = 6
	wireBytes   = 64 << 10
	wirePieces  = 64
)

// kind is the kind of a message.
type kind uint32

// Messages about a call.
const (
	kindHello kind = iota + 1
	kindReturn
	kindRead
	kindSymbol
	kindAnswer
	kindReads
)

// Calls.
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

// wire is the connection to the library: one message after the other, in either direction.
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

// receive receives a message. Its bytes belong to the caller.
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

// ask calls a callback. The error is that of the connection, or the code of the failed callback.
func (w *wire) ask(q message) (message, error) {
	if err := w.send(q); err != nil {
		return message{}, fmt.Errorf("%w: %w", errLost, err)
	}
	a, err := w.receive()
	switch {
	case err != nil:
		return a, fmt.Errorf("%w: %w", errLost, err)
	case a.kind != kindAnswer:
		return a, fmt.Errorf("%w: message %d is not an answer", errLost, a.kind)
	case a.words[0] != 0:
		return a, callbackError(a.words[0])
	}
	return a, nil
}

// errLost is the error of a closed connection, or of an invalid message.
var errLost = fmt.Errorf("the connection with libompd.so is lost: %w", callbacks.Error)

// callbackError is the code of a failed callback.
type callbackError uint64

// Error returns the name of the code.
func (e callbackError) Error() string {
	return fmt.Sprintf("a callback of the debugger failed: %v", callbacks.RC(min(uint64(e), 255)))
}

// Unwrap returns the return code of the routine: unreadable memory is an answer of the target, everything else
// a failure of the callback.
func (e callbackError) Unwrap() error {
	if callbacks.RC(min(uint64(e), 255)) == callbacks.DeviceReadError {
		return callbacks.DeviceReadError
	}
	return callbacks.CallbackError
}
