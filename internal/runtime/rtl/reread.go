package rtl

// Rereader is a runtime whose layout holds for as long as the program runs, so
// that it can be read again without looking for it again.
type Rereader interface {
	// Reread is the runtime as the target's memory is now, with the same
	// stamp. What was read before is not used. A runtime that has ended
	// is callbacks.Unavailable.
	Reread() (Runtime, error)
}
