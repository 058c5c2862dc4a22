package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxSearched bounds the functions in which a call that throws is looked for.
	maxSearched = 400
	// maxPlaces is up to how many places, from which an exception may have come, are told.
	maxPlaces = 4
	// maxFound bounds those that are found before the less likely are left out.
	maxFound = 64
)

// throwSearch is what code shows of who may have thrown an exception.
type throwSearch struct {
	x       *exceptions
	found   []callIn            // that throw such an exception
	callers map[uint64][]callIn // of functions, by their entries
}

// callIn is a call in the function of an entry.
type callIn struct{ ret, entry uint64 }

// places are the calls that throw such an exception in the function around pc, and in those
// that it calls; none if they are too many, or if not all could be looked at. If only templates of
// the library throw it, they are the calls of the program that lead to these.
func (x *exceptions) places(pc uint64, e cxxabi.Exception) []picture.Frame {
	s := throwSearch{x: x, callers: map[uint64][]callIn{}}
	if !s.look(pc, e) {
		return nil
	}
	var own, led []picture.Frame
	for _, c := range s.found {
		if f := s.frame(c); !stacks.InLibraryHeader(f) {
			own = withPlace(own, f)
		} else if len(led) <= maxPlaces {
			led = s.from(c, led, map[uint64]bool{})
		}
	}
	if len(own) == 0 { // templates of the library throw where something is wrong with their arguments
		own = led
	}
	if len(own) > maxPlaces {
		return nil
	}
	return own
}

// look collects the calls; not ok if they are too many.
func (s *throwSearch) look(pc uint64, e cxxabi.Exception) (ok bool) {
	x, seen := s.x, map[uint64]bool{}
	for queue := x.parts(pc); len(queue) > 0; queue = queue[1:] {
		code := x.flows.FunctionAt(queue[0])
		if code == nil {
			continue
		}
		for _, site := range code.Sites() {
			at := callIn{site.Return, queue[0]}
			if site.Return != 0 && x.throwsSuch(site, e) {
				s.found = append(s.found, at)
			}
			entry := x.flows.Program.Entry(site)
			low, _, ok := x.code.Unwinder.FunctionBounds(entry) // a jump may lead into a part that lies elsewhere
			if entry == 0 || !ok || !x.ofProgram(entry) {
				continue
			}
			if site.Return != 0 {
				s.callers[low] = append(s.callers[low], at)
			}
			if !seen[low] {
				seen[low] = true
				queue = append(queue, low)
			}
		}
		if len(seen) > maxSearched || len(s.found) > maxFound {
			return false
		}
	}
	return true
}

// from adds the calls of the program's own code that lead to one in a header, or that call itself if none does.
func (s *throwSearch) from(c callIn, out []picture.Frame, seen map[uint64]bool) []picture.Frame {
	f := s.frame(c)
	if !stacks.InLibraryHeader(f) || len(s.callers[c.entry]) == 0 {
		return withPlace(out, f)
	}
	if seen[c.entry] || len(out) > maxPlaces {
		return out
	}
	seen[c.entry] = true
	for _, up := range s.callers[c.entry] {
		out = s.from(up, out, seen)
	}
	return out
}

func (s *throwSearch) frame(c callIn) picture.Frame {
	return *s.x.programFrame(frame{PC: c.ret, Module: s.x.code.ModuleOf(c.ret)}, stacks.KindUser)
}

// withPlace adds a frame to a list that has none with its line.
func withPlace(fs []picture.Frame, f picture.Frame) []picture.Frame {
	same := func(o picture.Frame) bool { return f.Line != 0 && o.File == f.File && o.Line == f.Line }
	if slices.ContainsFunc(fs, same) {
		return fs
	}
	return append(fs, f)
}
