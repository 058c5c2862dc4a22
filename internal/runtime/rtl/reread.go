package rtl

// Rereader is a runtime with a layout that holds as long as the program runs, so that it can be read again
// without a new search.
type Rereader interface {
	// Reread returns the runtime for the target's current memory, with the same stamp and without cached data.
	// For a runtime that has ended, the error is callbacks.Unavailable.
	Reread() (Runtime, error)
}
