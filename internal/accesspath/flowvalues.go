package accesspath

import "slices"

// solve finds the values of registers and stack cells at the begin of each block:
// what is the same on all ways to it.
func (f *Flow) solve() {
	entry := newState(f.x.abi, f.insts[0].pc)
	for r := range register(temp0) {
		if entry.regs[r].kind == kindUnknown {
			entry.regs[r] = f.leaf(flowLeaf{reg: r})
		}
	}
	f.blocks[0].in = entry
	todo := make([]bool, len(f.blocks))
	todo[0] = true
	for b := range f.blocks {
		if f.blocks[b].lost {
			f.blocks[b].in = f.nothing(b)
			todo[b] = true
		}
	}
	order := f.order()
	for slices.Contains(todo, true) {
		for _, b := range order {
			if todo[b] {
				todo[b] = false
				f.pass(b, todo)
			}
		}
	}
}

// pass follows the values through block b, and marks those blocks of which more is
// known then.
func (f *Flow) pass(b int, todo []bool) {
	s := f.blocks[b].in.fork()
	for i := f.blocks[b].first; i < f.blocks[b].last; i++ {
		f.step(s, i)
	}
	for _, n := range f.blocks[b].succ {
		if f.merge(n, s) {
			todo[n] = true
		}
	}
}

// order are the blocks so that each comes behind those that lead to it, but for
// loops: what is the same on all ways to a block is then not taken for different
// only because one way was followed before the others.
func (f *Flow) order() []int {
	type visit struct{ block, next int }
	seen, out := make([]bool, len(f.blocks)), []int(nil)
	for b := range f.blocks {
		if b > 0 && !f.blocks[b].lost || seen[b] {
			continue
		}
		seen[b] = true
		for stack := []visit{{block: b}}; len(stack) > 0; {
			v := &stack[len(stack)-1]
			succ := f.blocks[v.block].succ
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

// nothing is the state at the begin of block b of which nothing is known.
func (f *Flow) nothing(b int) *state {
	s := newState(f.x.abi, f.insts[f.blocks[b].first].pc)
	for r := range register(temp0) {
		s.regs[r] = f.leaf(flowLeaf{pc: s.pc, reg: r, joins: true})
	}
	return s
}

// leaf is the value that is not followed of that name. Equal names give the same
// value. Its number is never 0, which is that of a value that nobody named.
func (f *Flow) leaf(k flowLeaf) *Expr {
	e := f.leafs[k]
	if e == nil {
		f.names = append(f.names, k)
		e = leaf(kindUnknown, uint64(len(f.names)))
		f.leafs[k] = e
	}
	return e
}

// merge joins s into what is known at the begin of block b and tells whether that
// changed.
func (f *Flow) merge(b int, s *state) bool {
	blk := &f.blocks[b]
	if blk.in == nil {
		blk.in = s.fork()
		return true
	}
	if blk.rounds++; blk.rounds == maxFlowRounds {
		blk.in = f.nothing(b)
		return true
	}
	changed, pc := false, f.insts[blk.first].pc
	for r := range register(temp0) {
		if blk.in.regs[r].Equal(s.regs[r]) {
			continue
		}
		if phi := f.leaf(flowLeaf{pc: pc, reg: r, joins: true}); blk.in.regs[r] != phi {
			blk.in.regs[r], changed = phi, true
		}
	}
	kept := blk.in.stack[:0:0]
	for _, c := range blk.in.stack {
		was, is := blk.in.loadStack(c.off, c.size), s.loadStack(c.off, c.size)
		if was.nameless() || is.nameless() {
			changed = true
			continue
		}
		if !was.Equal(is) {
			if phi := f.leaf(flowLeaf{pc: pc, reg: inCell, cell: c.off, joins: true}); c.value != phi {
				c.value, changed = phi, true
			}
		}
		kept = append(kept, c)
	}
	blk.in.stack = kept
	return changed
}

// step does instruction i.
func (f *Flow) step(s *state, i int) {
	in := &f.insts[i]
	if in.opaque {
		f.forget(s, in.pc, ^uint64(0))
		return
	}
	perhaps := false // a condition of the instruction itself decides
	for k := range in.uops {
		u := &in.uops[k]
		switch u.code {
		case uSelect:
			if a, b := s.value(u.a), s.value(u.b); a.Equal(b) {
				s.regs[u.dst] = extend(a, u.size, false)
			} else {
				s.regs[u.dst] = nil
			}
		case uSkip:
			perhaps = true
		case uEnd, uBranch, uJump, uReturn, uStop:
		case uCall:
			s.escape(f.args(s))
			f.forget(s, in.pc, ^f.x.abi.keep)
		default:
			s.apply(u)
			if perhaps && u.code != uStore && u.code != uPush && u.code != uFlags {
				s.regs[u.dst] = nil
			}
		}
	}
	f.name(s, in)
	s.path = Path{}
}

// forget makes the registers of a set unknown.
func (f *Flow) forget(s *state, pc uint64, set uint64) {
	for r := range register(temp0) {
		if set>>r&1 != 0 && r != f.x.abi.sp {
			s.regs[r] = f.leaf(flowLeaf{pc: pc, reg: r})
		}
	}
}

// name gives names to the values that are not followed among what the
// instruction wrote.
func (f *Flow) name(s *state, in *flowInst) {
	for k := range in.uops {
		u := &in.uops[k]
		switch u.code {
		case uStore, uPush, uFlags, uBranch, uJump, uCall, uReturn, uStop, uSkip, uEnd:
		default:
			if e := s.regs[u.dst]; u.dst < temp0 && (e == nil || e.nameless()) {
				s.regs[u.dst] = f.leaf(flowLeaf{pc: in.pc, reg: u.dst})
			}
		}
	}
	for i := range s.stack {
		if c := &s.stack[i]; c.value.nameless() {
			c.value = f.leaf(flowLeaf{pc: in.pc, reg: inCell, cell: c.off})
		}
	}
}

// nameless tells whether e has a part that is unknown and has no name.
func (e *Expr) nameless() bool {
	return e != nil && (e.kind == kindUnknown && e.val == 0 || e.a.nameless() || e.b.nameless())
}

// args are the values of the argument registers.
func (f *Flow) args(s *state) []*Expr {
	out := make([]*Expr, len(f.x.abi.args))
	for i, r := range f.x.abi.args {
		out[i] = s.content(r)
	}
	return out
}

// stackArgs is how many arguments on the stack are looked at: those of functions
// that OpenMP compilers call.
const stackArgs = 4

// spilled are the words on top of the stack, where arguments are that have no register.
func (f *Flow) spilled(s *state) []*Expr {
	sp := s.content(f.x.abi.sp)
	if sp.kind != kindStack {
		return nil
	}
	out := make([]*Expr, stackArgs)
	for i := range out {
		at := sp.val + uint64(8*i)
		if out[i] = s.loadStack(at, 8); out[i].nameless() {
			out[i] = s.loadStack(at, 4)
		}
	}
	return out
}

// collect lists the calls, and the jumps out of the function.
func (f *Flow) collect() {
	for b := range f.blocks {
		blk := &f.blocks[b]
		if blk.in == nil {
			continue
		}
		s := blk.in.fork()
		for i := blk.first; i < blk.last; i++ {
			if site, ok := f.site(s, i); ok {
				f.siteOf[i] = len(f.sites)
				f.sites = append(f.sites, site)
			}
			f.step(s, i)
		}
	}
}

// site is the call that instruction i makes in state s.
func (f *Flow) site(s *state, i int) (Site, bool) {
	in := &f.insts[i]
	for k := range in.uops {
		u := &in.uops[k]
		if u.code != uCall && u.code != uJump {
			continue
		}
		t := s.fork() // what the instruction computes on the way to the target
		for _, v := range in.uops[:k] {
			if v.code < uSelect || v.code > uReturn {
				t.apply(&v)
			}
		}
		site := Site{Target: f.x.target(t.value(u.a)), PC: in.pc, Args: append(f.args(s), f.spilled(s)...)}
		if _, inside := f.index[site.Entry]; u.code == uJump && (inside || site.Entry == 0 && site.Slot == 0) {
			return Site{}, false
		}
		site.Name = f.x.stub(site.Target)
		if u.code == uCall {
			site.Return = in.end()
		}
		return site, true
	}
	return Site{}, false
}

// Sites returns the calls of the function, and the jumps out of it.
func (f *Flow) Sites() []Site {
	f.follow()
	return f.sites
}
