package accessor

// Ints returns the C ints that function stores through its last n arguments.
func (c *Caller) Ints(threadPointer uint64, function string, n int) ([]int, error) {
	out, err := c.call(threadPointer, function, nil, n)
	var vs []int
	for _, w := range out.Words {
		vs = append(vs, int(int32(w)))
	}
	return vs, err
}
