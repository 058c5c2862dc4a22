package accesspath

import "github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"

// StoredThrough returns a function that lists the values that a path stores through pointer argument arg.
func StoredThrough(arg int) func(symbolic.Path) []*symbolic.Expr {
	return func(p symbolic.Path) []*symbolic.Expr {
		var out []*symbolic.Expr
		for _, s := range p.Stores {
			if a, ok := s.Address.OfArg(); ok && a == arg {
				out = append(out, s.Value)
			}
		}
		return out
	}
}
