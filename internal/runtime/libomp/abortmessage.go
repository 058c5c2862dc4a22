package libomp

import (
	"bytes"
	"strings"
)

// fatal is the prefix of an error that ends the program (__kmp_msg).
const fatal = "OMP: Error #"

// reportHint is the beginning of the hint that follows a failed assertion. An assertion often fails because of the
// program: a signal handler that acquires a lock, or a fork in a region.
const reportHint = "OMP: Hint Please submit a bug report"

// maxWords bounds the text of an error, in bytes. The runtime's buffer for it has 512 bytes before it moves to
// the heap.
const maxWords = 2048

// AbortMessage finds the text of the error that was passed to __kmp_fatal: __kmp_msg formats it in a buffer on
// the stack. It returns "" if it finds no text, or several.
func (rt *base) AbortMessage(stack []byte) string {
	found := ""
	for {
		at := bytes.Index(stack, []byte(fatal))
		if at < 0 {
			found, _, _ = strings.Cut(found, reportHint)
			return strings.ReplaceAll(strings.TrimSuffix(found, "\n"), "\n", "; ")
		}
		words := completeText(stack[at:min(len(stack), at+maxWords)])
		switch {
		case words == "" || words == found:
		case found != "":
			return "" // ambiguous
		default:
			found = words
		}
		stack = stack[at+len(fatal):]
	}
}

// completeText returns the text at the start of b if it is complete: printable, and terminated by a newline and
// a NUL.
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
