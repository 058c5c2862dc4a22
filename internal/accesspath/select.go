package accesspath

// Returned is the value that the path returns, if it does.
func (p Path) Returned() []*Expr {
	if p.Result == nil {
		return nil
	}
	return []*Expr{p.Result}
}

// Read is everything that the path reads.
func (p Path) Read() []*Expr { return p.Loads }

// StoredThrough selects what a path stores where its argument points to.
func StoredThrough(arg int) func(Path) []*Expr {
	return func(p Path) []*Expr {
		var out []*Expr
		for _, s := range p.Stores {
			if a, ok := s.Address.OfArg(); ok && a == arg {
				out = append(out, s.Value)
			}
		}
		return out
	}
}
