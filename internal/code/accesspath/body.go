package accesspath

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// maxBody bounds the instructions of one Body. The longest function of the
// runtimes at hand has some 5,000.
const maxBody = 1 << 16

// newExplorer reads code, and follows it within the bounds of cfg.
func newExplorer(cfg Config) (*explorer, error) {
	r, err := symbolic.NewReader(cfg.Arch, cfg.Mem, cfg.Resolve)
	if err != nil {
		return nil, err
	}
	x := &explorer{Reader: r, follows: cfg.Follow, bounds: cfg.Bounds}
	if x.bounds == (Bounds{}) {
		x.bounds = defaultBounds()
	}
	return x, nil
}

// Body is the code that jumps lead to from one place on, without what is called.
// From the entry of a function it is the function, but for what is reached
// through jump tables only.
type Body struct {
	x     *explorer
	nodes map[uint64]bodyNode
	calls []BodyCall
}

// bodyNode is an instruction and the ones that may follow it.
type bodyNode struct{ next []uint64 }

// BodyCall is a call of a fixed address.
type BodyCall struct {
	PC    uint64 // of the call
	Entry uint64 // of what is called
}

// NewBody follows the code from pc on. It fails only if the first instruction
// cannot be read or decoded.
func NewBody(cfg Config, pc uint64) (*Body, error) {
	x, err := newExplorer(cfg)
	if err != nil {
		return nil, fmt.Errorf("code at %#x: %w", pc, err)
	}
	b := &Body{x: x, nodes: map[uint64]bodyNode{}}
	if _, ok := b.x.Fetch(pc); !ok {
		return nil, fmt.Errorf("code at %#x: %w", pc, errNoCode)
	}
	work := []uint64{pc}
	for len(work) > 0 && len(b.nodes) < maxBody {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if _, seen := b.nodes[pc]; seen {
			continue
		}
		in, ok := b.x.Fetch(pc)
		if !ok {
			continue
		}
		n := b.node(pc, in)
		b.nodes[pc] = n
		work = append(work, n.next...)
	}
	slices.SortFunc(b.calls, func(p, q BodyCall) int { return int(int64(p.PC - q.PC)) })
	return b, nil
}

// node tells how an instruction goes on, and notes its call.
func (b *Body) node(pc uint64, in lift.Instruction) bodyNode {
	var n bodyNode
	next := pc + uint64(in.Length)
	falls := true
	for _, u := range in.Uops {
		switch u.Code {
		case lift.UopBranch:
			n.next = append(n.next, u.A.Val)
		case lift.UopJump:
			falls = false
			if !u.A.IsReg() {
				n.next = append(n.next, u.A.Val)
			}
		case lift.UopCall:
			if !u.A.IsReg() {
				b.calls = append(b.calls, BodyCall{pc, u.A.Val})
			}
			falls = falls && !b.x.begins(next)
		case lift.UopReturn, lift.UopStop:
			falls = false
		}
	}
	if falls {
		n.next = append(n.next, next)
	}
	return n
}

// Calls returns the calls of fixed addresses, by their places.
func (b *Body) Calls() []BodyCall { return b.calls }

// Len returns the number of instructions.
func (b *Body) Len() int { return len(b.nodes) }

// Contains reports whether there is an instruction at pc that the code comes to.
func (b *Body) Contains(pc uint64) bool {
	_, ok := b.nodes[pc]
	return ok
}
