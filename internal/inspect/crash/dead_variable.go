package crash

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxDead bounds the variables of functions that have returned.
	maxDead = 4
	// maxTaskFrames bounds the frames in which they are searched: the code that crashed and its callers.
	maxTaskFrames = 16
)

// deadVariables finds variables that the crashed code uses, from frame from outward to the first one that is not the
// program's, and whose memory is on some stack below all frames, or in a frame that is newer than the variable's
// function. A task that shares a variable has its address in such code.
func (c *Finder) deadVariables(n *teams.Thread, from int) []picture.DeadVariable {
	if c.code.Symbols == nil || c.code.Rehearsing {
		return nil
	}
	st := n.Stack()
	read := func(addr uint64, p []byte) error { return c.target.ReadMemory(callbacks.Addr(addr), p) }
	crashed := n.ExecutedTask(c.code)
	var out []picture.DeadVariable
	for i := from; i < min(len(st.Frames), from+maxTaskFrames) && st.Kinds[i] == stacks.KindUser; i++ {
		f := st.Frames[i]
		at := symbolize.Activation{PC: f.LookupPC(), CFA: f.CFA, Register: f.Registers.Get}
		add := func(v symbolize.Shared, shared bool) {
			d, dead := c.belowFrames(v.Address)
			if !dead && crashed != nil && i <= crashed.Frame {
				d, dead = c.inNewerFrame(crashed, v, shared && i == crashed.Frame)
			}
			if dead && len(out) < maxDead && !slices.ContainsFunc(out, func(o picture.DeadVariable) bool {
				return uint64(o.Address) == v.Address
			}) {
				d.Name, d.Address = v.Name, picture.Hex(v.Address)
				out = append(out, d)
			}
		}
		for _, v := range c.code.Symbols.SharedVariables(at, read) {
			add(v, true)
		}
		for _, function := range c.code.Symbols.Values(at, read) {
			for _, v := range function {
				if !v.Argument && !strings.HasPrefix(v.Name, ".") {
					add(symbolize.Shared{Name: v.Name, Address: v.Address}, false)
				}
			}
		}
	}
	return out
}

// belowFrames reports whether an address is on the stack of a thread below its frames, and returns the thread with its
// stack pointer. The stack is the memory mapping around the stack pointer, without another thread's stack pointer
// between.
func (c *Finder) belowFrames(addr uint64) (d picture.DeadVariable, dead bool) {
	n, writable := c.stackAt(addr, func(sp uint64) bool { return sp > addr })
	if n == nil {
		return d, false
	}
	return picture.DeadVariable{Thread: n.LWP, SP: picture.Hex(n.Registers().SP())}, writable
}

// stackAt returns the thread with the lowest stack pointer that satisfies is, in the mapping around an address.
func (c *Finder) stackAt(addr uint64, is func(sp uint64) bool) (on *teams.Thread, writable bool) {
	if addr == 0 {
		return nil, false
	}
	for _, m := range stacks.MappingsOf(c.target) {
		if addr < m.Low.Offset || addr >= m.High.Offset {
			continue
		}
		var least uint64
		for _, n := range c.threads.All {
			regs := n.Registers()
			if regs == nil || regs.SP() < m.Low.Offset || regs.SP() >= m.High.Offset || !is(regs.SP()) {
				continue
			}
			if on == nil || regs.SP() < least {
				on, least = n, regs.SP()
			}
		}
		return on, m.Perm&callbacks.PermWrite != 0
	}
	return nil, false
}

// inNewerFrame reports whether a variable that the code of a crashed task uses cannot be alive, as its memory is in a
// frame that is newer than the function of the variable. shared means that the task has a pointer to it.
func (c *Finder) inNewerFrame(t *teams.ExecutedTask, v symbolize.Shared, shared bool) (d picture.DeadVariable,
	dead bool) {
	n, frame := c.frameAt(v.Address)
	if n == nil {
		return d, false
	}
	st := n.Stack()
	d = picture.DeadVariable{Thread: n.LWP, SP: picture.Hex(n.Registers().SP()),
		Frame: c.code.InnermostFrame(st.Frames[frame], st.Kinds[frame])}
	end := 0 // of the frames of the task that the thread executes
	task := n.ExecutedTask(c.code)
	if task != nil {
		end = c.callEnd(n, task.Frame+1)
	}
	switch {
	case frame < c.callEnd(n, 0):
		d.Reason = "which has no variable of the program"
	case frame < end && t.Is(task):
		if !shared {
			return d, false
		}
		d.Reason = "in use for the task itself"
	case frame < end && t.IsUnrelated(task):
		d.Reason = "in use for another task, which did not create this one"
	case shared && v.Home && c.isOther(st, frame, c.containing(t)):
		d.Reason = "and no call of " + c.containing(t) + " is on that stack"
	default:
		return d, false
	}
	return d, true
}

// containing returns the function of the program that contains the construct of a task, "" if it is unknown.
func (c *Finder) containing(t *teams.ExecutedTask) string {
	fs := c.code.FramesWithConstruct(t.Thread.Stack().Frames[t.Frame], stacks.KindUser)
	return fs[len(fs)-1].In
}

// callEnd returns the index after the frames of one call of a runtime on the stack of a thread, which begin at frame
// from, perhaps with those of the C library. The function that called the runtime may have no frame: the call is a
// function that the runtime's module exports. A frame of a function that copies variables of the program to its stack
// is not counted.
func (c *Finder) callEnd(n *teams.Thread, from int) int {
	st, i := n.Stack(), from
	for ; i < len(st.Frames) && (st.Kinds[i] == stacks.KindRuntime || st.Kinds[i] == stacks.KindSystem); i++ {
		name, _, exported := c.code.Symbols.Exported(st.Frames[i].LookupPC())
		if !exported || n.Runtime == nil || !n.Runtime.Owns(st.Frames[i].LookupPC()) {
			continue
		}
		if !rtl.CopiesVariables(name) {
			i++
		}
		break
	}
	return i
}

// frameAt returns the thread and the frame on its stack that an address is in. It returns nil if the frame, or one
// further in, was guessed.
func (c *Finder) frameAt(addr uint64) (*teams.Thread, int) {
	for _, n := range c.threads.All {
		if n.Registers() == nil {
			continue
		}
		fs := n.Stack().Frames
		i := slices.IndexFunc(fs, func(f unwind.Frame) bool {
			sp := f.Registers.SP()
			return sp != 0 && addr >= sp && addr < f.CFA
		})
		if i < 0 {
			continue
		}
		if fs[i].Signal || slices.ContainsFunc(fs[:min(i+2, len(fs))], func(f unwind.Frame) bool {
			return f.How == unwind.HowFramePointer || f.How == unwind.HowLeaf || f.How == unwind.HowScan
		}) {
			return nil, 0
		}
		return n, i
	}
	return nil, 0
}

// isOther reports whether a frame is of a function of the program other than the one with the name, and no frame of the
// stack is of that function. Functions of GCC's extensions to C, such as nested ones, have a point in their names.
func (c *Finder) isOther(st *stacks.Stack, frame int, name string) bool {
	if name == "" || strings.Contains(name, ".") || st.Kinds[frame] != stacks.KindUser {
		return false
	}
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		fs := c.code.FramesWithConstruct(f, stacks.KindUser)
		for _, g := range fs {
			// Compilers add suffixes to the names of copies of a function, as in add.constprop.0.
			base, _, _ := strings.Cut(g.Function, ".")
			if g.Construct != "" {
				base = g.In
			}
			if base == "" || base == name && (g.Construct == "" || i == frame) {
				return false
			}
		}
	}
	return true
}
