package inspect

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
			in.regions.threads(v)
		}
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
	}
}

// touchThread reads a thread's stack, and what tells its state and place.
func (in *Inspector) touchThread(n *native) {
	in.stackOf(n)
	if n.rt == nil || n.lwp == 0 {
		return
	}
	in.stateOf(n)
	in.loopOf(n)
	if len(n.chain) > 0 {
		if h, err := n.rt.CurrentTask(n.h); err == nil {
			_, _ = n.rt.Task(h)
		}
	}
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
