package rtl

// AbortMessageReader is a runtime that tells why it ends the program when it does, in
// words that can be found again. It is a power beyond what OMPD asks of a runtime.
type AbortMessageReader interface {
	// AbortMessage finds what the runtime said. stack is the memory of the stack of
	// the thread that ended the program: the frames of the runtime that did, and
	// what is left below of the functions that they called before. It is empty if
	// nothing was found, or more than one thing.
	AbortMessage(stack []byte) string
}
