package locate

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// Before the program uses the runtime, the OMPD description is empty. The code that will fill it shows its
// address: one function stores all of its words, which are constants there.

// initializers lists exported functions that initialize the runtime when they are called first.
var initializers = []string{"omp_get_num_procs", "__kmpc_global_thread_num", "__kmp_fork_call"}

const (
	// initDepth is the number of calls between an initializer and the function that fills the description: three
	// in all releases.
	initDepth = 5
	// maxInitializing bounds the functions that are examined in between.
	maxInitializing = 2000
)

// fillBounds limits the work on a function that may fill the description: some 150 consecutive stores of two or
// three instructions each.
var fillBounds = accesspath.Bounds{Steps: 2000, Paths: 2, Visits: 1, Depth: 1}

// describedByCode finds the description by the code that fills it.
func (s *memorySource) describedByCode() error {
	cfg := accesspath.Config{Arch: s.target.Arch(), Mem: s.target, Bounds: fillBounds}
	var level []uint64
	for _, f := range initializers {
		if a, err := layout.SymbolIn(s.target, s.module, f); err == nil {
			level = append(level, a.Offset)
		}
	}
	seen := map[uint64]bool{}
	for range initDepth {
		var next []uint64
		for _, f := range level {
			if seen[f] || len(seen) == maxInitializing {
				continue
			}
			seen[f] = true
			b, err := accesspath.NewBody(cfg, f)
			if err != nil {
				continue
			}
			if b.Len() > len(ompdWords()) && s.filledBy(cfg, f) {
				return nil
			}
			for _, c := range b.Calls() {
				if s.module.Contains(callbacks.Addr(c.Entry)) {
					next = append(next, c.Entry)
				}
			}
		}
		level = next
	}
	return fmt.Errorf("none of %d functions that set the runtime up fills an OMPD description: %w", len(seen),
		layout.ErrUnknown)
}

// filledBy reads the description from the function at entry, and reports whether that function fills it.
func (s *memorySource) filledBy(cfg accesspath.Config, entry uint64) bool {
	paths, err := accesspath.Run(cfg, entry)
	if err != nil {
		return false
	}
	for _, p := range paths {
		stored := s.constants(p)
		for a := range stored {
			if words := wordsAt(stored, a); words != nil && checkDescription(words) == nil {
				s.setDescription(callbacks.Addr(a), words)
				return true
			}
		}
	}
	return false
}

// constants returns the words that a path stores at fixed addresses.
func (s *memorySource) constants(p symbolic.Path) map[uint64]uint64 {
	code := layoutcode.New(s.target, s.module, &layoutcode.Rules{})
	out := map[uint64]uint64{}
	for _, st := range p.Stores {
		c, ok := code.Chain(st.Cell())
		value, fixed := st.Value.Number()
		if ok && fixed && st.Size == wordBytes && c.Root.Kind == symbolic.RootGlobal && len(c.Steps) == 1 &&
			c.Steps[0].Index == nil {
			out[c.Root.Address+c.Steps[0].Offset] = value
		}
	}
	return out
}

// wordsAt returns the description that starts at low, or nil if stored lacks a word of it.
func wordsAt(stored map[uint64]uint64, low uint64) map[ompdWord]uint64 {
	words := map[ompdWord]uint64{}
	masks := maskValues()
	for i, w := range ompdWords() {
		v, ok := stored[low+uint64(i)*wordBytes]
		if !ok || w.kind == "bitfield" && !slices.Contains(masks, v) {
			return nil
		}
		words[w] = v
	}
	return words
}
