package accesspath

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// maxBody bounds the instructions of one Body. The longest function of the known runtimes has some 5,000.
const maxBody = 1 << 16

// newExplorer returns an explorer of code within the bounds of cfg.
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

// Body is the code that is reachable from one place by jumps, without callees. From the entry of a function, it
// is the whole function, except code that is reachable only through jump tables.
type Body struct {
	x     *explorer
	nodes map[uint64]bodyNode
	calls []BodyCall
}

// bodyNode is an instruction with its successors.
type bodyNode struct{ next []uint64 }

// BodyCall is a call of a fixed address.
type BodyCall struct {
	PC    uint64 // of the call
	Entry uint64 // of the callee
}

// NewBody follows the code from pc. It fails only if the first instruction is unreadable or invalid.
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

// node returns the successors of an instruction and records its call.
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

// Calls returns the calls of fixed addresses, by address of the call.
func (b *Body) Calls() []BodyCall { return b.calls }

// Len returns the number of instructions.
func (b *Body) Len() int { return len(b.nodes) }

// Contains reports whether there is a reachable instruction at pc.
func (b *Body) Contains(pc uint64) bool {
	_, ok := b.nodes[pc]
	return ok
}
