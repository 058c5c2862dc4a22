package phrase

import "github.com/ompd-inspect/ompd-inspect/picture"

// HolderClause returns the relation of a step's holder to the object of the wait, as a relative clause without its
// pronoun: "LWP 5 holds", "depends on LWP 5". release is the place where the holder may release it, such as
// " in main x.c:7"; self is set if the waiting thread holds the object itself.
func HolderClause(s picture.CycleStep, holder, release string, self bool) string {
	switch row := s.WaitsFor.Kind.Traits(); {
	case row.Executes:
		return holder + " is in"
	case s.MayRelease && self:
		return "it holds itself and " + holder + " may release" + release
	case s.MayRelease:
		return holder + " may release" + release
	case row.Exclusive:
		return holder + " holds"
	}
	return "depends on " + holder
}

// HeldBy returns the same relation before the name of the holder: "held by", "not reached by".
func HeldBy(s picture.CycleStep) string {
	switch kind := s.WaitsFor.Kind; {
	case s.MayRelease:
		return "may be released by"
	case kind.Exclusive():
		return "held by"
	case kind == picture.WaitBarrier:
		return "not reached by"
	}
	return "depends on"
}
