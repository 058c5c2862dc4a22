package libomp

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxStackWords bounds the searched part of a thread's stack, in 8-byte words: the runtime's frames of a wait
// have some 1,000 bytes.
const maxStackWords = 2 << 10

// runtimeStack returns the stack memory of the runtime's innermost frames: those below the call from user code,
// or all of them if that call is not found.
func runtimeStack(ev *handles.Evidence) (low, high callbacks.Address) {
	switch {
	case ev == nil:
		return
	case ev.Entry != nil:
		return ev.Entry.StackLow, ev.Entry.StackHigh
	case ev.Registers == nil:
		return
	}
	low = callbacks.Addr(ev.Registers.SP())
	for _, f := range ev.Frames {
		if f.Owned {
			high = callbacks.Addr(f.CFA)
		} else if !rtl.IsSystem(f) {
			break
		}
	}
	return low, high
}

// readWords reads the aligned words of memory in [low, high), without unreadable ones.
func (rt *base) readWords(low, high callbacks.Address) []uint64 {
	start := (low.Offset + 7) &^ 7
	if low.IsNull() || start >= high.Offset {
		return nil
	}
	n := min((high.Offset-start)/8, maxStackWords)
	data := make([]byte, 8*n)
	if err := rt.mem.ReadMemory(callbacks.Addr(start), data); err != nil {
		return nil
	}
	ws := make([]uint64, n)
	for i := range ws {
		ws[i] = callbacks.Word(data[8*i : 8*i+8])
	}
	return ws
}

// clues returns the distinct words in the runtime's frames and in registers, without small numbers.
func (rt *base) clues(ev *handles.Evidence) []uint64 {
	low, high := runtimeStack(ev)
	ws := rt.readWords(low, high)
	if ev != nil && ev.Registers != nil {
		for n, v := range ev.Registers.Values {
			if _, ok := ev.Registers.Get(n); ok {
				ws = append(ws, v)
			}
		}
	}
	ws = slices.DeleteFunc(ws, func(w uint64) bool { return w < lowestAddress })
	slices.Sort(ws)
	return slices.Compact(ws)
}

// sortThreads sorts the addresses of threads for threadOf.
func (ths *threads) sortThreads() {
	for a := range ths.gtids {
		ths.sorted = append(ths.sorted, a)
	}
	slices.Sort(ths.sorted)
}

// threadOf returns the address of the kmp_info_t that contains the address w.
func (ths *threads) threadOf(w uint64) (uint64, bool) {
	i, ok := slices.BinarySearchFunc(ths.sorted, w, cmp.Compare[uint64])
	if !ok {
		i--
	}
	if i < 0 || w-ths.sorted[i] >= ths.l.Thread.Size.Size {
		return 0, false
	}
	return ths.sorted[i], true
}
