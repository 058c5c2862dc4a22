package trace

// Recent reads the newest records of each thread: at most each per ring, and at most all in total. Older
// records are neither read nor counted as lost.
func (r *Reader) Recent(each, all uint64) (*Recording, error) {
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	n := min(each, all/max(1, 2*uint64(h.Rings)))
	return r.each(tries, func(_ *Recording, t *Thread, at uint64, header []byte) error {
		return r.newest(t, at, header, n)
	})
}

// Whole reports whether a run contains all records that were ever written to its ring.
func (r *Run) Whole() bool { return r.First == 0 && r.Lost == 0 && r.Damaged == 0 }
