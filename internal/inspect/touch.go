package inspect

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// lostStack is how much of a stack is read from the frame on whose caller could not
// be found: the frames of a runtime and the program's outlined functions have less.
const lostStack = 8 << 10

// Rehearse reads what Picture reads for the wanted parts, and, if verdicts are wanted,
// what Facts reads. It is used on a running process, to find out which memory the answer
// will need: it makes the answer, but for the names of code, which are in files.
func (in *Inspector) Rehearse(want Parts, verdicts bool) {
	in.code.rehearsing = true
	defer func() { in.code.rehearsing = false }()
	want.Native = false // native stacks differ from others by the names of their frames
	want.Threads = want.Threads || want.Stacks || verdicts
	want.Regions, want.Tasks = want.Regions || verdicts, want.Tasks || verdicts
	want.Stacks = false
	pic := in.Picture(want)
	if want.Threads || want.Regions {
		in.readConstructs()
	}
	if verdicts {
		in.Facts(pic)
	}
}

// readConstructs reads what the names of frames lead to: the constructs of regions and
// tasks, and the stacks of those that forked the regions.
func (in *Inspector) readConstructs() {
	in.model.constructs()
	for _, v := range in.regions.all() {
		if n := in.regions.primary(v); v.err == nil && n != nil {
			in.stacks.stackOf(n)
		}
	}
}

// readOn reads on where a stack could not be unwound further. Of a thread that waits
// while its process runs, not all registers are known: unwinding may lose its way where
// the answer will not.
func (s *stacks) readOn(st *stack) {
	if !s.code.rehearsing || st.err == nil || len(st.frames) == 0 {
		return
	}
	var rest [lostStack]byte
	_ = s.code.target.ReadMemory(callbacks.At(st.frames[len(st.frames)-1].Registers.SP()), rest[:])
}
