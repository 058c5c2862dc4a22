package inspect

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxFrame bounds what is read of one frame, in bytes: a page has the variables of loops.
	maxFrame = 4 << 10
	// maxOuter bounds the frames of the program beside the innermost one whose words are compared: the loops of
	// the program that do not end soon are mostly in these.
	maxOuter = 4
)

// loopWords are words that loops of several threads write, or wait for.
type loopWords struct {
	written []spin.Word // by loops that only wait: that they change is no progress
	awaited []spin.Word
}

// wordsOf returns the words of the loops of some threads, each once.
func wordsOf(threads []traced) (out loopWords) {
	type place struct {
		address uint64
		size    uint8
	}
	written, awaited := map[place]bool{}, map[place]bool{}
	add := func(list *[]spin.Word, seen map[place]bool, words []spin.Word) {
		for _, w := range words {
			if at := (place{w.Address, w.Size}); !seen[at] {
				seen[at] = true
				*list = append(*list, w)
			}
		}
	}
	for i := range threads {
		if loop := threads[i].spins; loop != nil {
			add(&out.written, written, loop.Written)
			add(&out.awaited, awaited, loop.Words)
		}
	}
	return out
}

// digest returns a short text that differs if the bytes do.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return fmt.Sprintf(" %x", sum[:16])
}

// frameOf returns the number of the frame of the function around pc, from frame i on; i if there is none.
func (tr *tracer) frameOf(st *stacks.Stack, pc uint64, i int) int {
	entry := tr.code.FunctionEntry(unwind.Frame{PC: pc, Exact: true})
	for k := i; k < len(st.Frames) && k <= i+maxOuter; k++ {
		if tr.code.FunctionEntry(st.Frames[k]) == entry {
			return k
		}
	}
	return i
}

// spinTrace returns what a loop waits for, and what the function of frame i, which has it, keeps meanwhile. It is nil
// if the loop writes what another one waits for.
func (tr *tracer) spinTrace(st *stacks.Stack, i int, loop *spin.Loop, words loopWords) *picture.SpinTrace {
	for _, w := range loop.Written {
		if slices.ContainsFunc(words.awaited, func(o spin.Word) bool { return o.Overlaps(w) }) {
			return nil
		}
	}
	out := &picture.SpinTrace{Awaited: map[uint64]uint64{}, Shared: slices.ContainsFunc(loop.Words,
		func(w spin.Word) bool { return tr.waits.spins.shared(w.Address) })}
	for _, w := range loop.Words {
		if v, err := layout.ReadUint(tr.waits.target, callbacks.At(w.Address), uint64(w.Size)); err == nil {
			out.Awaited[w.Address] = v
		}
	}
	low := uint64(0)
	if i == 0 && !loop.Calls {
		low = st.Frames[0].Registers.SP() - redZone
	}
	out.Kept = tr.words(st, i, low, words.written, loop.Writes)
	return out
}

// values returns what some words have.
func (tr *tracer) values(words []spin.Word) (text string) {
	for _, w := range words {
		v, err := layout.ReadUint(tr.waits.target, callbacks.At(w.Address), uint64(w.Size))
		if err != nil {
			return text
		}
		text += fmt.Sprintf(" %x", v)
	}
	return text
}

// callerText returns the registers and the words of the program's frame i, which has called what the thread is in.
func (tr *tracer) callerText(st *stacks.Stack, i int, words loopWords) string {
	return tr.callerRegisters(st, i) + tr.frameWords(st, i, 0, words.written)
}

// callerRegisters returns the registers of frame i.
func (tr *tracer) callerRegisters(st *stacks.Stack, i int) string {
	if i >= len(st.Frames) {
		return ""
	}
	return ownRegisters(st.RegistersOf(i))
}

// frameWords returns the words of the frames up to frame i from address low on, or those of frame i if that is 0, but
// for some that loops write.
func (tr *tracer) frameWords(st *stacks.Stack, i int, low uint64, written []spin.Word) string {
	return tr.words(st, i, low, written, func(uint64) bool { return false })
}

// outerWords returns the words of the program's frames outside of frame i.
func (tr *tracer) outerWords(st *stacks.Stack, i int, words loopWords) (text string) {
	for k, left := i+1, maxOuter; k < len(st.Frames) && left > 0; k++ {
		if st.Kinds[k] == stacks.KindUser {
			text += tr.frameWords(st, k, 0, words.written)
			left--
		}
	}
	return text
}

// words is frameWords with a function that reports whether a byte does not count.
func (tr *tracer) words(st *stacks.Stack, i int, low uint64, written []spin.Word, skip func(addr uint64) bool) string {
	if i >= len(st.Frames) || st.Frames[i].CFA == 0 {
		return ""
	}
	if low == 0 {
		low = st.Frames[i].Registers.SP()
	}
	high := min(st.Frames[i].CFA, low+maxFrame)
	if low == 0 || high <= low {
		return ""
	}
	b := make([]byte, high-low)
	if tr.waits.target.ReadMemory(callbacks.At(low), b) != nil {
		return ""
	}
	for k := range b {
		if b[k] != 0 && skip(low+uint64(k)) {
			b[k] = 0
		}
	}
	for _, w := range written {
		for at := max(low, w.Address); at < min(high, w.Address+uint64(w.Size)); at++ {
			b[at-low] = 0
		}
	}
	return digest(b)
}

// vectors returns the floating-point and vector registers of a thread, if they are known.
func (tr *tracer) vectors(n *native) string {
	v, ok := tr.roster.target.(callbacks.VectorReader)
	if !ok {
		return ""
	}
	b, err := v.VectorRegisters(callbacks.LWP(uint64(n.LWP)))
	if err != nil {
		return ""
	}
	return digest(b)
}

// lockText returns what is known of the lock that a thread waits for, and which is different when another thread
// acquires it: its owner, and the queue of those that wait.
func (tr *tracer) lockText(t *picture.Thread, n *native) string {
	if !t.WaitKind.OfLock() {
		return ""
	}
	if w, ok := tr.waits.nativeWait(n); ok && w.Kind.OfLock() {
		return fmt.Sprintf("%x %d", w.address, w.WaitOn)
	}
	r, ok := waitReader(n)
	if !ok {
		return ""
	}
	info, err := r.WaitedLock(n.h, tr.states.evidence(n))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Lock, info.Held, info.OwnerNumber, info.Waiters, info.Waiting)
}

// asleep reports whether n sleeps in a futex, without a time limit, from which only a thread of its own process can
// wake it, and whether it is about to be woken: the word that it sleeps on has changed.
func (tr *tracer) asleep(n *native, regs *callbacks.Registers) (sleeps, woken bool) {
	futex, waits := arch.IsFutexWait(regs)
	if !waits {
		return false, false
	}
	w, known := tr.waits.nativeWait(n)
	if known && !w.timed && (w.Kind == picture.WaitJoin || w.Kind == picture.WaitFutex) {
		return true, false // the kernel wakes it when the thread ends; a latch wakes at zero
	}
	word, err := layout.ReadUint(tr.waits.target, futex, 4)
	if err != nil {
		return false, false
	}
	sleeps = !tr.waits.timed(n, uint32(word))
	return sleeps, !sleeps && arch.EndlessWait(regs, !tr.waits.spins.shared(futex.Offset))
}
