package accesspath

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// errNoPath means that the conditions of no path hold.
var errNoPath = errors.New("no path of the function fits this state")

// holdsIn reports whether a condition is true for one thread.
func holdsIn(c symbolic.Cond, env symbolic.Env) (bool, error) {
	if c.Op == lift.CondUnknown {
		return false, symbolic.ErrOpaque
	}
	a, err := symbolic.Eval(c.A, env)
	if err != nil {
		return false, err
	}
	b, err := symbolic.Eval(c.B, env)
	return c.Op.Holds(a, b), err
}

// evalPaths returns the result of the function for one thread: that of the path with conditions that hold. If no
// path fits, or if a condition is unknown, the error names the first obstacle.
func evalPaths(paths []symbolic.Path, env symbolic.Env) (uint64, error) {
	obstacle := errNoPath
	for _, p := range paths {
		fits, err := fits(p, env)
		if err == nil && fits && p.End == symbolic.EndReturn {
			return symbolic.Eval(p.Result, env)
		}
		if err == nil && fits {
			err = fmt.Errorf("%w: %v", errNoPath, p.End)
		}
		if err != nil && errors.Is(obstacle, errNoPath) {
			obstacle = err
		}
	}
	return 0, obstacle
}

// fits reports whether all conditions of the path hold. A false condition decides, even after an unknown one.
func fits(p symbolic.Path, env symbolic.Env) (bool, error) {
	var unknown error
	for _, c := range p.Conds {
		ok, err := holdsIn(c, env)
		switch {
		case err != nil && unknown == nil:
			unknown = err
		case err == nil && !ok:
			return false, nil
		}
	}
	return unknown == nil, unknown
}
