package inspect

import "github.com/ompd-inspect/ompd-inspect/rtl"

// loopOf is the worksharing loop that n is in; nil if its runtime keeps none.
func (in *Inspector) loopOf(n *native) *Loop {
	r, ok := n.rt.Runtime.(rtl.LoopReader)
	if !ok {
		return nil
	}
	info, err := r.Loop(n.h)
	if err != nil {
		return nil
	}
	return &Loop{
		Schedule: info.Schedule, Chunk: info.Chunk, Ordered: info.Ordered, First: info.First, Last: info.Last, Step: info.Step,
		Iterations: info.Iterations, Left: info.Left, From: info.From, To: info.To, Evidence: info.Evidence,
	}
}
