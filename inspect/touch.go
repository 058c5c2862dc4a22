package inspect

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// lostStack is how much of a stack is read from the frame on whose caller could not
// be found: the frames of a runtime and the program's outlined functions have less.
const lostStack = 8 << 10

// Touch reads of the target what Picture reads for the wanted parts, and, if
// verdicts are wanted, what they are drawn from. It names no code and makes no
// text: it is for a process that runs, of which is to be learned what memory an
// answer will need. What it leaves out costs the process another stop, and
// nothing else.
func (in *Inspector) Touch(want Parts, verdicts bool) {
	if want.Threads || want.Stacks || verdicts {
		for _, n := range in.natives {
			in.touchThread(n)
		}
	}
	if want.Regions || verdicts {
		for _, v := range in.regions.all() {
			in.touchRegion(v, verdicts)
		}
	}
	if want.Threads || want.Stacks || want.Regions || verdicts {
		in.constructs()
	}
	if want.Tasks || verdicts {
		in.touchTasks()
	}
	if want.ICVs {
		in.ICVs()
		in.ControlVars()
	}
	if verdicts {
		in.touchWaits()
		in.Environment("") // no variable has this name: all are read
	}
}

// touchRegion reads the members of a region, what leads to its code, and, for
// verdicts, what decided on its size.
func (in *Inspector) touchRegion(v *regionView, verdicts bool) {
	in.regions.threads(v)
	if v.err != nil || v.h.Level == 0 {
		return
	}
	if n := in.regions.primary(v); n != nil {
		in.touchStack(n)
	}
	if verdicts {
		in.forkSettings(v, &Fork{})
	}
}

// touchThread reads a thread's stack, and what tells its state and place.
func (in *Inspector) touchThread(n *native) {
	in.touchStack(n)
	if n.rt == nil || n.lwp == 0 {
		return
	}
	in.stateOf(n)
	in.loopOf(n)
	in.runtimeWait(n)
	for _, h := range n.chain {
		in.regions.get(n.rt, h)
	}
	if len(n.chain) > 0 {
		if h, err := n.rt.CurrentTask(n.h); err == nil {
			_, _ = n.rt.Task(h)
		}
	}
}

// touchStack reads a thread's stack. Of a thread that waits while its process runs,
// not all registers are known: it may lose its way where the answer does not.
func (in *Inspector) touchStack(n *native) {
	st := in.stackOf(n)
	if st.err == nil || len(st.frames) == 0 {
		return
	}
	var rest [lostStack]byte
	_ = in.cfg.Target.ReadMemory(callbacks.At(st.frames[len(st.frames)-1].Registers.SP()), rest[:])
}

// touchTasks reads the tasks that a picture holds.
func (in *Inspector) touchTasks() {
	seen := newSeenTasks()
	read := 0
	for _, v := range in.regions.all() {
		for h := range in.tasksOf(v, seen) {
			if read++; read > MaxTasks {
				return
			}
			if _, err := v.rt.Task(h); err == nil {
				_, _ = v.rt.GeneratingTask(h)
				_, _ = v.rt.WaitsFor(h)
			}
		}
	}
}

// touchWaits reads who has what threads wait for. Those that wait at one barrier
// read the same of it.
func (in *Inspector) touchWaits() {
	barriers := map[uint64]bool{}
	for _, w := range in.Waits() {
		switch {
		case w.Kind != WaitBarrier:
			_, _ = in.Lock(w)
			in.GroupTasks(w)
		case !barriers[w.Address]:
			barriers[w.Address] = true
			_, _ = in.Barrier(w)
		}
	}
}
