package callbacks

// Ledger counts memory that is taken on behalf of a target: of its file, of the files that
// it names, and of what it says. Readers ask it before they take memory in proportion to
// what a target claims, and leave out what it refuses. It is used by several goroutines.
type Ledger interface {
	// Take counts n bytes for what, which whoever keeps the ledger may name. If it is an
	// error, nothing is counted, and they are not taken.
	Take(what string, n uint64) error
	// Give gives back n bytes that were taken.
	Give(n uint64)
}
