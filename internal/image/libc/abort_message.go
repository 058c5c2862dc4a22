package libc

import (
	"bytes"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// maxAbortMessage bounds the message that the C library keeps, in bytes.
	maxAbortMessage = 4 << 10
	// abortText is the offset of the text in that message (struct abort_msg_s), after its size.
	abortText = 4
)

// AbortMessage returns the text that the C library printed before it called abort: at a failed assertion, or
// when it found the heap or a stack damaged. It is "" if it printed no text.
func (l *Library) AbortMessage() string {
	at, err := l.target.Symbol("__abort_msg", "")
	if err != nil {
		return ""
	}
	var pointer [8]byte
	if l.target.ReadMemory(at, pointer[:]) != nil || callbacks.Word(pointer[:]) == 0 {
		return ""
	}
	text := callbacks.Word(pointer[:]) + abortText
	const piece = 256 // it may end close to unreadable memory
	var b []byte
	for len(b) < maxAbortMessage && bytes.IndexByte(b, 0) < 0 {
		part := make([]byte, piece)
		if l.target.ReadMemory(callbacks.Addr(text+uint64(len(b))), part) != nil {
			part[0] = 0
		}
		b = append(b, part...)
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(b[:end])), "\n", "; ")
}
