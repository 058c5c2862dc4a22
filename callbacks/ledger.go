package callbacks

// Ledger counts memory that is allocated on behalf of a target: for its file, for the files that it names, and
// for its own data. Readers ask it before they allocate memory in proportion to a size that a target claims, and
// omit the data if it refuses. It is used by several goroutines.
type Ledger interface {
	// Take counts n bytes under the label what. If it returns an error, it has not counted them, and they must
	// not be allocated.
	Take(what string, n uint64) error
	// Give returns n bytes to the ledger.
	Give(n uint64)
}
