package libgomp

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// linkedFunctions holds the runtime's functions that were found in an executable without symbols. They are found
// by the thread-local variable that only they use, by the operations of the small ones on a lock's word, and by
// the order of the functions in the runtime's sources.
type linkedFunctions struct {
	code      extent
	functions []rtl.Symbol
	locks     map[string]uint64 // the runtime's own locks, by the names of the variables
}

// sketch is a function with the facts that its code shows.
type sketch struct {
	low, high uint64
	arch.Sketch
	known bool // the code was analyzed
	ours  bool // it uses gomp_tls_data
	team  bool // it uses the thread's team, and no other part of gomp_tls_data
}

// threadExtent is a lower bound for the size of gomp_thread in all releases, in bytes: thread-local memory in
// this range belongs to the runtime.
const threadExtent = 96

// minLinked is the least number of functions with uses of gomp_tls_data that identifies the runtime. The
// smallest program that contains the runtime has more than a hundred.
const minLinked = 16

// findLinked finds the runtime's functions in mod. It returns nil if there are too few of them.
func findLinked(
	t callbacks.Target, mod *callbacks.Module, o layout.Options, tls func() (uint64, error),
) *linkedFunctions {
	kept := o.Kept.ModuleOf(mod)
	if l, ok := kept.Linked.(*linkedFunctions); ok {
		return l
	}
	if !mod.Main || o.Functions == nil || isRuntime(t, mod) {
		return nil
	}
	at, err := tls()
	if err != nil {
		return nil
	}
	l := newLinked(sketches(t, o.Functions(mod), at))
	kept.Linked = l
	return l
}

// sketches analyzes functions, in the order of their addresses.
func sketches(t callbacks.Target, bounds [][2]uint64, tls uint64) []sketch {
	all := make([]sketch, 0, len(bounds))
	for _, b := range bounds {
		if n := len(all); n > 0 && b[0] == all[n-1].low {
			continue
		}
		s := sketch{low: b[0], high: b[1]}
		s.Sketch, s.known = arch.SketchOf(t.Arch(), t, b[0], b[1])
		s.ours = slices.ContainsFunc(s.TLS, func(off uint64) bool { return off-tls < threadExtent })
		s.team = len(s.TLS) == 1 && s.TLS[0] == tls+teamInThread
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b sketch) int { return cmp.Compare(a.low, b.low) })
	return all
}

// newLinked finds the runtime's functions among all functions of an executable.
func newLinked(all []sketch) *linkedFunctions {
	first, last := -1, -1
	count := 0
	for i := entryPoint(all); i < len(all); i++ {
		if all[i].ours {
			if first < 0 {
				first = i
			}
			last = i
			count++
		}
	}
	if count < minLinked {
		return nil
	}
	f := linker{all: all, first: first, last: last}
	f.slow = f.slowPaths()
	f.widen()
	l := &linkedFunctions{code: extent{all[f.first].low, all[f.last].high}, locks: map[string]uint64{}}
	f.nameSeries(l)
	return l
}

// instsStart is an upper bound for the number of instructions in a program's entry point.
const instsStart = 20

// entryPoint returns the index of the program's entry point: cold code of all functions is before it.
func entryPoint(all []sketch) int {
	return max(0, slices.IndexFunc(all, func(s sketch) bool {
		return s.Halts && !s.Syscall && s.Insts < instsStart && len(s.Leaves) <= 1
	}))
}

// linker assigns names to the functions of an executable. The runtime's functions are [first, last].
type linker struct {
	all         []sketch
	first, last int
	slow        map[uint64]bool // the functions that wait for a lock or wake a waiter
}

// slowPaths returns the functions that make system calls and are called by at least two functions of the runtime
// that exchange a lock's word.
func (f *linker) slowPaths() map[uint64]bool {
	calls := map[uint64]int{}
	for _, s := range f.all[f.first : f.last+1] {
		if len(s.Words) == 1 {
			for _, to := range s.Leaves {
				calls[to]++
			}
		}
	}
	slow := map[uint64]bool{}
	for _, s := range f.all {
		if calls[s.low] > 1 && s.Syscall {
			slow[s.low] = true
		}
	}
	return slow
}

// widen extends the runtime's range by adjacent functions that wait for its locks.
func (f *linker) widen() {
	for f.first > 0 && f.waits(f.first-1) {
		f.first--
	}
	for f.last+1 < len(f.all) && f.waits(f.last+1) {
		f.last++
	}
}

// waits reports whether function i can call a function that waits for a lock of the runtime, or that wakes a
// waiter.
func (f *linker) waits(i int) bool {
	return slices.ContainsFunc(f.all[i].Leaves, func(to uint64) bool { return f.slow[to] })
}

// shape is the operation of a small function on the word of a lock.
type shape uint8

const (
	shapeOther       shape = iota
	shapeTakes             // takes the lock that its argument points to
	shapeGives             // releases that lock
	shapeTries             // takes that lock if it is free
	shapeTakesOwn          // takes one of the runtime's own locks
	shapeGivesOwn          // releases such a lock
	shapeTakesNest         // takes a lock that has a count and an owner
	shapeGivesNest         // releases such a lock, or decrements its count
	shapeTriesNest         // takes such a lock if it is free
	shapeInitializes       // writes to the address in its argument, and returns
	shapeNothing           // only returns
	shapeMeets             // jumps to another function with the thread's team
)

// Shapes of a function that only returns, and of one that only initializes a lock.
const (
	instsNothing     = 6
	instsInitializes = 8
	instsMeets       = 12
)

// shapeOf returns the shape of function i.
func (f *linker) shapeOf(i int) shape {
	s := &f.all[i]
	switch {
	case !s.known || s.Syscall || s.Indirect || len(s.Words) > 1:
		return shapeOther
	case len(s.Words) == 0:
		return f.shapeWithoutExchange(s)
	}
	w, waits := s.Words[0], f.waits(i)
	nest := slices.Contains(s.Stored, nestOwner)
	switch {
	case !w.Arg && waits && !s.ours && w.Compare:
		return shapeTakesOwn
	case !w.Arg && waits && !s.ours:
		return shapeGivesOwn
	case !w.Arg || w.Offset != 0:
	case nest && s.ours && w.Compare && waits:
		return shapeTakesNest
	case nest && s.ours && w.Compare:
		return shapeTriesNest
	case nest && !w.Compare && waits:
		return shapeGivesNest
	case s.ours || len(s.Stored) > 0:
	case w.Compare && waits:
		return shapeTakes
	case !w.Compare && waits:
		return shapeGives
	case w.Compare && len(s.Leaves) == 0:
		return shapeTries
	}
	return shapeOther
}

// shapeWithoutExchange returns the shape of a function that exchanges no word.
func (f *linker) shapeWithoutExchange(s *sketch) shape {
	switch {
	case s.team && len(s.Leaves) == 1 && s.Insts <= instsMeets && len(s.Stored) == 0:
		return shapeMeets
	case s.ours || len(s.Leaves) > 0:
		return shapeOther
	case len(s.Stored) > 0 && s.Insts <= instsInitializes:
		return shapeInitializes
	case len(s.Stored) == 0 && s.Insts <= instsNothing:
		return shapeNothing
	}
	return shapeOther
}

// series is the sequence of functions in a source file of the runtime.
type series struct {
	shapes []shape
	names  []string
	locks  []string // the variables of the runtime's own locks, for functions that take one
}

// allSeries returns the series by which functions are recognized, longer ones first.
func allSeries() []series {
	return []series{
		{
			[]shape{shapeInitializes, shapeNothing, shapeTakes, shapeGives, shapeTries,
				shapeInitializes, shapeNothing, shapeTakesNest, shapeGivesNest, shapeTriesNest},
			[]string{"omp_init_lock", "omp_destroy_lock", "omp_set_lock", "omp_unset_lock", "omp_test_lock",
				"omp_init_nest_lock", "omp_destroy_nest_lock", "omp_set_nest_lock", "omp_unset_nest_lock",
				"omp_test_nest_lock"}, nil,
		},
		{
			[]shape{shapeTakesOwn, shapeGivesOwn, shapeTakes, shapeGives},
			[]string{"GOMP_critical_start", "GOMP_critical_end", "GOMP_critical_name_start",
				"GOMP_critical_name_end"}, []string{"default_lock"},
		},
		{
			[]shape{shapeTakesOwn, shapeGivesOwn},
			[]string{"GOMP_atomic_start", "GOMP_atomic_end"}, []string{"atomic_lock"},
		},
		{[]shape{shapeMeets, shapeMeets}, []string{"GOMP_barrier", "GOMP_barrier_cancel"}, nil},
	}
}

// nameSeries names the functions of each series that occurs exactly once in the runtime's code.
func (f *linker) nameSeries(l *linkedFunctions) {
	taken := map[int]bool{}
	for _, s := range allSeries() {
		at := f.findShapes(s.shapes, taken)
		if len(at) != 1 {
			continue
		}
		if len(s.locks) > 0 {
			l.locks[s.locks[0]] = f.all[at[0]].Words[0].Address
		}
		for k, name := range s.names {
			taken[at[0]+k] = true
			l.add(name, &f.all[at[0]+k])
		}
	}
}

// findShapes returns the positions at which the shapes occur in sequence, in functions that have no name yet.
func (f *linker) findShapes(shapes []shape, taken map[int]bool) (at []int) {
	for i := f.first; i+len(shapes) <= f.last+1; i++ {
		fits := true
		for k, want := range shapes {
			if fits = !taken[i+k] && f.shapeOf(i+k) == want; !fits {
				break
			}
		}
		if fits {
			at = append(at, i)
		}
	}
	return at
}

func (l *linkedFunctions) add(name string, s *sketch) {
	l.functions = append(l.functions, rtl.Symbol{
		Name: name, Address: callbacks.Addr(s.low), Size: s.high - s.low, Kind: rtl.SymbolFunction,
		Evidence: "what the code does with locks, and the order of the functions in the runtime's sources",
	})
}

// Name returns "code".
func (l *linkedFunctions) Name() string { return "code" }

// Field returns an error: linked functions show no fields.
func (l *linkedFunctions) Field(string, string) (layout.Field, error) {
	return layout.Field{}, layout.ErrUnknown
}

// Type returns an error: linked functions show no types.
func (l *linkedFunctions) Type(string) (layout.Type, error) { return layout.Type{}, layout.ErrUnknown }

// Global returns the address of one of the runtime's own locks.
func (l *linkedFunctions) Global(name string) (uint64, error) {
	if a, ok := l.locks[name]; ok {
		return a, nil
	}
	return 0, layout.ErrUnknown
}

// LinkedFunctions returns the functions of the runtime that were found in an executable without
// symbols.
func (rt *base) LinkedFunctions() []rtl.Symbol {
	if rt.linked == nil {
		return nil
	}
	return rt.linked.functions
}
