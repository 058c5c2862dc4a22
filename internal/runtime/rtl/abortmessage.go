package rtl

// AbortMessageReader is a runtime that prints a reason before it ends the program, in a text that can be found
// again. OMPD does not require it.
type AbortMessageReader interface {
	// AbortMessage finds the text that the runtime printed. stack is the stack memory of the thread that ended
	// the program, including the leftovers of earlier calls below. It returns "" if it finds no text, or
	// several.
	AbortMessage(stack []byte) string
}
