package crash

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxSearched bounds the functions that are searched for a throwing call.
	maxSearched = 400
	// maxPlaces bounds the listed places from which an exception may have come.
	maxPlaces = 4
	// maxFound bounds the places before the less likely ones are dropped.
	maxFound = 64
)

// throwSearch collects the calls in code that may have thrown an exception.
type throwSearch struct {
	x       *Exceptions
	found   []callIn            // that throw such an exception
	callers map[uint64][]callIn // of functions, by their entries
}

// callIn is a call in the function of an entry.
type callIn struct{ ret, entry uint64 }

// throwPlaces returns the calls that throw such an exception in the function around pc and in those that it calls.
// It returns no calls if there are too many, or if some code could not be searched. If only templates of the
// library throw it, it returns the program's calls of these.
func (x *Exceptions) throwPlaces(pc uint64, e cxxabi.Exception) []picture.Frame {
	s := throwSearch{x: x, callers: map[uint64][]callIn{}}
	if !s.collect(pc, e) {
		return nil
	}
	var own, led []picture.Frame
	for _, c := range s.found {
		if f := s.frameOf(c); !stacks.InLibraryHeader(f) {
			own = addPlace(own, f)
		} else if len(led) <= maxPlaces {
			led = s.addCallers(c, led, map[uint64]bool{})
		}
	}
	if len(own) == 0 { // templates of the library throw if their arguments are wrong
		own = led
	}
	if len(own) > maxPlaces {
		return nil
	}
	return own
}

// collect collects the calls. It is not ok if there are too many.
func (s *throwSearch) collect(pc uint64, e cxxabi.Exception) (ok bool) {
	x, seen := s.x, map[uint64]bool{}
	for queue := []uint64{pc}; len(queue) > 0; queue = queue[1:] {
		code := x.flows.FunctionAt(queue[0])
		if code == nil {
			continue
		}
		for _, site := range code.Sites() {
			at := callIn{site.Return, queue[0]}
			if site.Return != 0 && x.throwsException(site, e) {
				s.found = append(s.found, at)
			}
			entry := x.flows.Program.Entry(site)
			low := x.code.FunctionEntry(unwind.Frame{PC: entry, Exact: true})
			if entry == 0 || low == 0 || !x.inProgram(entry) {
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

// addCallers adds the calls in the program's own code that lead to one in a header, or that call itself if there
// is no such call.
func (s *throwSearch) addCallers(c callIn, out []picture.Frame, seen map[uint64]bool) []picture.Frame {
	f := s.frameOf(c)
	if !stacks.InLibraryHeader(f) || len(s.callers[c.entry]) == 0 {
		return addPlace(out, f)
	}
	if seen[c.entry] || len(out) > maxPlaces {
		return out
	}
	seen[c.entry] = true
	for _, up := range s.callers[c.entry] {
		out = s.addCallers(up, out, seen)
	}
	return out
}

func (s *throwSearch) frameOf(c callIn) picture.Frame {
	return *s.x.programFrame(frame{PC: c.ret, Module: s.x.code.ModuleOf(c.ret)}, stacks.KindUser)
}

// addPlace adds a frame to a list without a frame of its line.
func addPlace(fs []picture.Frame, f picture.Frame) []picture.Frame {
	same := func(o picture.Frame) bool { return f.Line != 0 && o.File == f.File && o.Line == f.Line }
	if slices.ContainsFunc(fs, same) {
		return fs
	}
	return append(fs, f)
}
