package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// solve finds the values of registers and stack cells at the start of each block, as far as they are the same on
// all paths to it. A loop is first assumed to change no values. If a sweep shows a change, the value is marked
// as joined at the loop's head and all values are followed again: values based on the assumption would count as
// different ones in inner loops.
func (f *Function) solve() {
	w := &sweeper{f: f, order: f.reversePostorder(), place: make([]int, len(f.blocks)),
		joins: make([]join, len(f.blocks))}
	for i, b := range w.order {
		w.place[b] = i
	}
	for n := 1; ; n++ {
		again, err := w.sweep(n >= maxSweeps)
		if err != nil {
			f.giveUp()
			return
		}
		if !again {
			return
		}
	}
}

// maxSweeps bounds the sweeps: after that, all values are unknown at the head of a loop that still changes some.
// Few functions take more than five.
const maxSweeps = 20

// sweeper follows the values of a function through its blocks.
type sweeper struct {
	f     *Function
	order []int  // the blocks, in reverse postorder
	place []int  // position of each block in order
	joins []join // joins of each block that is the head of a loop
}

// join contains the registers, and the stack cells by offset, that differ between the paths to a block. The
// joins of loop heads are kept from sweep to sweep.
type join struct {
	regs  uint64
	cells map[uint64]cellJoin
	all   bool // all values are unknown at this head
}

type cellJoin uint8

const (
	cellSame cellJoin = iota
	cellDiffers
	cellUnknown // not written on each path
)

// sweep follows the values once through each block. It reports whether a loop changes more than its join
// contains.
func (w *sweeper) sweep(last bool) (again bool, err error) {
	f := w.f
	w.begin()
	s := new(symbolic.State)
	for _, b := range w.order {
		blk := &f.blocks[b]
		if blk.in == nil {
			continue
		}
		if err := f.spend(blk.last - blk.first); err != nil {
			return false, err
		}
		w.joins[b].apply(f, b)
		s.CopyFrom(blk.in)
		for i := blk.first; i < blk.last; i++ {
			f.execute(s, i)
		}
		for _, n := range blk.succ {
			switch {
			case w.place[n] > w.place[b]:
				f.merge(n, s)
			case f.blocks[n].in != nil && w.joins[n].widen(f.blocks[n].in, s, f.x.ABI.General):
				again = true
				w.joins[n].all = w.joins[n].all || last
			}
		}
	}
	return again, nil
}

// begin sets the initial states of the first block and of the blocks without a known predecessor.
func (w *sweeper) begin() {
	f := w.f
	entry := symbolic.NewState(f.x.ABI, f.insts[0].pc)
	for r := range f.x.ABI.General {
		if entry.Regs[r].Kind == symbolic.KindUnknown {
			entry.Regs[r] = f.leaf(valueName{reg: r})
		}
	}
	for b := range f.blocks {
		f.blocks[b].in = nil
		if f.blocks[b].unreached {
			f.blocks[b].in = f.unknownState(b)
		}
	}
	f.blocks[0].in = entry
}

// apply replaces the values that differ between the paths to block b by values named by the block.
func (j *join) apply(f *Function, b int) {
	blk := &f.blocks[b]
	if j.all {
		blk.in = f.unknownState(b)
		return
	}
	if j.regs == 0 && len(j.cells) == 0 {
		return
	}
	pc := f.insts[blk.first].pc
	for r := range f.x.ABI.General {
		if j.regs>>r&1 != 0 {
			blk.in.Regs[r] = f.leaf(valueName{pc: pc, reg: r, atJoin: true})
		}
	}
	kept := blk.in.Stack[:0]
	for _, c := range blk.in.Stack {
		switch j.cells[c.Off] {
		case cellUnknown:
			continue
		case cellDiffers:
			c.Value = f.leaf(valueName{pc: pc, reg: inCell, cell: c.Off, atJoin: true})
		}
		kept = append(kept, c)
	}
	blk.in.Stack = kept
}

// widen adds the differences between in, the state at a block, and s, the state at the end of a predecessor. It
// reports whether it added any.
func (j *join) widen(in, s *symbolic.State, general lift.Register) (more bool) {
	if j.all {
		return false
	}
	for r := range general {
		if j.regs>>r&1 == 0 && !in.Regs[r].Equal(s.Regs[r]) {
			j.regs, more = j.regs|1<<r, true
		}
	}
	for _, c := range in.Stack {
		how := cellSame
		switch is := s.LoadStack(c.Off, c.Size); {
		case c.Value.Nameless() || is.Nameless():
			how = cellUnknown
		case !c.Value.Equal(is):
			how = cellDiffers
		}
		if how <= j.cells[c.Off] {
			continue
		}
		if j.cells == nil {
			j.cells = map[uint64]cellJoin{}
		}
		j.cells[c.Off], more = how, true
	}
	return more
}

// giveUp makes all values unknown.
func (f *Function) giveUp() {
	for b := range f.blocks {
		f.blocks[b].in = f.unknownState(b)
	}
}

// reversePostorder returns the blocks so that each follows its predecessors, except in loops. Otherwise a value
// that is the same on all paths could count as different, because one path was followed before the others.
func (g *graph) reversePostorder() []int {
	roots := []int{0}
	for b := range g.blocks {
		if g.blocks[b].unreached {
			roots = append(roots, b)
		}
	}
	return g.reversePostorderFrom(roots)
}

// reversePostorderFrom returns the blocks that some roots reach, in that order.
func (g *graph) reversePostorderFrom(roots []int) []int {
	type visit struct{ block, next int }
	seen, out := make([]bool, len(g.blocks)), []int(nil)
	for _, b := range roots {
		if seen[b] {
			continue
		}
		seen[b] = true
		for stack := []visit{{block: b}}; len(stack) > 0; {
			v := &stack[len(stack)-1]
			succ := g.blocks[v.block].succ
			if v.next == len(succ) {
				out = append(out, v.block)
				stack = stack[:len(stack)-1]
				continue
			}
			n := succ[v.next]
			if v.next++; !seen[n] {
				seen[n] = true
				stack = append(stack, visit{block: n})
			}
		}
	}
	slices.Reverse(out)
	return out
}

// unknownState returns a state at the start of block b in which all values are unknown.
func (f *Function) unknownState(b int) *symbolic.State {
	s := symbolic.NewState(f.x.ABI, f.insts[f.blocks[b].first].pc)
	for r := range f.x.ABI.General {
		s.Regs[r] = f.leaf(valueName{pc: s.PC, reg: r, atJoin: true})
	}
	return s
}

// leaf returns the opaque value with a name. Equal names give the same value. Its number is never 0, the number
// of unnamed values.
func (f *Function) leaf(k valueName) *symbolic.Expr {
	e := f.leaves[k]
	if e == nil {
		f.names = append(f.names, k)
		e = symbolic.Leaf(symbolic.KindUnknown, uint64(len(f.names)))
		f.leaves[k] = e
	}
	return e
}

// merge joins s into the state at the start of block b.
func (f *Function) merge(b int, s *symbolic.State) {
	blk := &f.blocks[b]
	if blk.in == nil {
		blk.in = s.Fork()
		return
	}
	s = f.joinDivisions(b, s)
	var j join
	if j.widen(blk.in, s, f.x.ABI.General) {
		j.apply(f, b)
	}
}

// joinDivisions replaces the results of a bypassed division, in the state at the start of block b and in s, which is
// to be merged, by those of the division. It returns the new s.
func (f *Function) joinDivisions(b int, s *symbolic.State) *symbolic.State {
	in, out := f.blocks[b].in, s
	for r := range f.x.ABI.General {
		x, y := in.Regs[r], s.Regs[r]
		if !symbolic.Divides(x) || !symbolic.Divides(y) || x.Equal(y) {
			continue
		}
		wide, ok := f.bypassed(b, x, y)
		if !ok {
			continue
		}
		if out == s {
			out = s.Fork()
		}
		in.Regs[r], out.Regs[r] = wide, wide
	}
	return out
}

// bypassed compares the results x and y of two divisions on two paths to block b. If the branch before the paths shows
// that one division stands in for the other, it returns the wider one.
func (f *Function) bypassed(b int, x, y *symbolic.Expr) (*symbolic.Expr, bool) {
	for _, p := range f.predecessors()[b] {
		unreached := func(b int) bool { return f.blocks[b].in == nil } // such as padding
		before := slices.DeleteFunc(slices.Clone(f.predecessors()[p]), unreached)
		if len(before) != 1 || len(f.blocks[before[0]].succ) != 2 {
			continue
		}
		blk := &f.blocks[before[0]]
		t := blk.in.Fork()
		for i := blk.first; i < blk.last-1; i++ {
			f.execute(t, i)
		}
		c, ok := branchCondition(f, t, blk.last-1)
		if !ok {
			continue
		}
		if blk.succ[0] != p { // the first successor is the target of the branch
			c = c.Negate()
		}
		switch {
		case symbolic.IsBypassed(x, y, c):
			return x, true
		case symbolic.IsBypassed(y, x, c):
			return y, true
		}
	}
	return nil, false
}

// execute executes instruction i.
func (f *Function) execute(s *symbolic.State, i int) {
	in := &f.insts[i]
	if in.opaque {
		f.forget(s, i, ^uint64(0))
		return
	}
	perhaps := false // execution depends on a condition of the instruction itself
	for k := 0; k < len(in.Uops); k++ {
		u := &in.Uops[k]
		switch u.Code {
		case lift.UopSelect:
			value := symbolic.Select(s.Cond(u.CC), s.Value(u.A), s.Value(u.B))
			s.Regs[u.Dst] = symbolic.Extend(value, u.Size, false)
		case lift.UopSkip:
			holds, decided := s.Cond(u.CC).Decided()
			if perhaps = !decided; holds {
				k += int(u.Scale)
			}
		case lift.UopBranch, lift.UopJump, lift.UopReturn, lift.UopStop:
		case lift.UopCall:
			call(f, s, i, u)
		case lift.UopLoad:
			f.load(s, in, u, perhaps)
		default:
			s.Apply(u)
			if perhaps && u.SetsRegister() {
				s.Regs[u.Dst] = nil
			}
		}
	}
	f.nameValues(s, in)
	s.Path = symbolic.Path{}
}

// forget makes a set of registers unknown after instruction i. Their values are named together: most values of a
// function come from calls.
func (f *Function) forget(s *symbolic.State, i int, set uint64) {
	left, general := f.left[i], f.x.ABI.General
	if left == nil {
		left = symbolic.Unknowns(uint64(len(f.names))+1, int(general))
		for r := range general {
			f.names = append(f.names, valueName{pc: f.insts[i].pc, reg: r})
		}
		f.left[i] = left
	}
	for r := range general {
		if set>>r&1 != 0 && r != f.x.ABI.SP {
			s.Regs[r] = &left[r]
		}
	}
}

// nameValues names the opaque values among the results of an instruction.
func (f *Function) nameValues(s *symbolic.State, in *inst) {
	stores := false
	for k := range in.Uops {
		u := &in.Uops[k]
		stores = stores || u.Stores()
		if !u.SetsRegister() {
			continue
		}
		if e := s.Regs[u.Dst]; u.Dst < lift.Temp0 && (e == nil || e.Nameless()) {
			s.Regs[u.Dst] = f.leaf(valueName{pc: in.pc, reg: u.Dst})
		}
	}
	if !stores {
		return // all cells have named values
	}
	for i := range s.Stack {
		if c := &s.Stack[i]; c.Value.Nameless() {
			c.Value = f.leaf(valueName{pc: in.pc, reg: inCell, cell: c.Off})
		}
	}
}

// argumentRegisters returns the values of the argument registers.
func (f *Function) argumentRegisters(s *symbolic.State) []*symbolic.Expr {
	out := make([]*symbolic.Expr, len(f.x.ABI.Args))
	for i, r := range f.x.ABI.Args {
		out[i] = s.Content(r)
	}
	return out
}

// stackArgs is the number of arguments on the stack that are followed. It is enough for the functions that
// OpenMP compilers call.
const stackArgs = 4

// stackArguments returns the words on top of the stack, which hold the arguments without a register.
func (f *Function) stackArguments(s *symbolic.State) []*symbolic.Expr {
	sp := s.Content(f.x.ABI.SP)
	if sp.Kind != symbolic.KindStack {
		return nil
	}
	out := make([]*symbolic.Expr, stackArgs)
	for i := range out {
		at := sp.Val + uint64(8*i)
		if out[i] = s.LoadStack(at, 8); out[i].Nameless() {
			out[i] = s.LoadStack(at, 4)
		}
	}
	return out
}

// collectSites lists the calls, and the jumps and branches out of the function.
func (f *Function) collectSites() {
	s, within := new(symbolic.State), new(symbolic.State)
	for b := range f.blocks {
		blk := &f.blocks[b]
		if blk.in == nil {
			continue
		}
		s.CopyFrom(blk.in)
		for i := blk.first; i < blk.last; i++ {
			if site, ok := f.site(s, within, i); ok {
				site.Index, f.siteOf[i] = len(f.sites), len(f.sites)
				f.sites = append(f.sites, site)
			}
			if i == blk.last-1 {
				noteDecidedBranch(f, s, b)
			}
			f.execute(s, i)
		}
	}
}

// site returns the call made by instruction i in state s. It overwrites t.
func (f *Function) site(s, t *symbolic.State, i int) (CallSite, bool) {
	in := &f.insts[i]
	for k := range in.Uops {
		u := &in.Uops[k]
		if !leads(*u) {
			continue
		}
		t.CopyFrom(s) // intermediate results of the instruction
		for _, v := range in.Uops[:k] {
			if !v.Leaves() {
				t.Apply(&v)
			}
		}
		to := t.Value(u.A)
		site := CallSite{Target: f.x.Target(to), PC: in.pc,
			Args: append(f.argumentRegisters(s), f.stackArguments(s)...)}
		if u.Code != lift.UopCall && (f.isInside(site.Entry) || site.Entry == 0 && site.Slot == 0) {
			return CallSite{}, false
		}
		if site.Name = f.x.Stub(site.Target); site.Name == "" && site.Entry == 0 {
			site.To = to
		}
		if u.Code == lift.UopCall {
			site.Return = in.end()
		}
		return site, true
	}
	return CallSite{}, false
}

// Follow follows the values of the function.
func (f *Function) Follow() { f.ensureFollowed() }

// Sites returns the calls of the function, and the jumps and branches out of it.
func (f *Function) Sites() []CallSite {
	f.ensureSolved()
	return f.sites
}
