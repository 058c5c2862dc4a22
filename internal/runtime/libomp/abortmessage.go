package libomp

import (
	"bytes"
	"strings"
)

// fatal is the prefix of an error that ends the program (__kmp_msg).
const fatal = "OMP: Error #"

// maxWords bounds the text of an error. The runtime's own buffer for it has 512
// bytes before it moves to the heap.
const maxWords = 2048

// AbortMessage finds the text of the error that __kmp_fatal was called with: __kmp_msg
// had it in a buffer on the stack.
func (rt *base) AbortMessage(stack []byte) string {
	found := ""
	for {
		at := bytes.Index(stack, []byte(fatal))
		if at < 0 {
			return strings.ReplaceAll(strings.TrimSuffix(found, "\n"), "\n", "; ")
		}
		words := completeText(stack[at:min(len(stack), at+maxWords)])
		switch {
		case words == "" || words == found:
		case found != "":
			return "" // which was said?
		default:
			found = words
		}
		stack = stack[at+len(fatal):]
	}
}

// completeText returns the text at the start of b if it is complete: printable, and ended by a newline and
// a zero.
func completeText(b []byte) string {
	end := bytes.IndexByte(b, 0)
	if end < 1 || b[end-1] != '\n' || bytes.ContainsFunc(b[:end], func(r rune) bool {
		return r < ' ' && r != '\n' ||
			r == 0xfffd
	}) {
		return ""
	}
	return string(b[:end])
}
