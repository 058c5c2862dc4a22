package accesspath

import (
	"errors"
	"fmt"
)

// errNoPath says that no path's conditions hold.
var errNoPath = errors.New("no path of the function fits this state")

// holdsIn tells whether a condition is true for one thread.
func (c Cond) holdsIn(env Env) (bool, error) {
	if c.Op == CondUnknown {
		return false, ErrOpaque
	}
	a, err := Eval(c.A, env)
	if err != nil {
		return false, err
	}
	b, err := Eval(c.B, env)
	return c.Op.holds(a, b), err
}

// evalPaths is what the function would return for one thread: the result of the
// path whose conditions hold. It fails if none fits, or if it cannot be told
// which does; the error then names the first obstacle.
func evalPaths(paths []Path, env Env) (uint64, error) {
	obstacle := errNoPath
	for _, p := range paths {
		fits, err := p.fits(env)
		if err == nil && fits && p.End == EndReturn {
			return Eval(p.Result, env)
		}
		if err == nil && fits {
			err = fmt.Errorf("%w: %v", errNoPath, p.End)
		}
		if err != nil && obstacle == errNoPath {
			obstacle = err
		}
	}
	return 0, obstacle
}

// fits tells whether all conditions of the path hold. A condition that does not
// hold decides, even behind one that cannot be told.
func (p Path) fits(env Env) (bool, error) {
	var unknown error
	for _, c := range p.Conds {
		ok, err := c.holdsIn(env)
		switch {
		case err != nil && unknown == nil:
			unknown = err
		case err == nil && !ok:
			return false, nil
		}
	}
	return unknown == nil, unknown
}
