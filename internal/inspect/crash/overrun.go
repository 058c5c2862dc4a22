package crash

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Overruns finds the threads whose frames reach beyond their own stacks into those of others.
func (c *Finder) Overruns() []picture.Overrun {
	var out []picture.Overrun
	for _, n := range c.threads.Sorted() {
		o, ok := c.threads.FindOverrun(n, c.data.Library())
		if !ok {
			continue
		}
		st, sp := n.Stack(), n.Registers().SP()
		end := sp
		if o.Frame > 0 {
			end = st.Frames[o.Frame-1].CFA
		}
		found := picture.Overrun{Thread: n.LWP, Victim: o.Victim.LWP, Stack: &picture.FaultStack{
			Low: picture.Address(o.Own.Low), High: picture.Address(libc.BlockEnd(o.Own.High)),
			Source: "its thread control block",
			SP:     picture.Address(sp), FrameSize: st.Frames[o.Frame].CFA - min(end, st.Frames[o.Frame].CFA),
		}}
		if i := slices.Index(st.Kinds[o.Frame:], stacks.KindUser); i >= 0 {
			found.Frame = c.code.InnermostFrame(st.Frames[o.Frame+i], stacks.KindUser)
		}
		if st.Kinds[o.Frame] == stacks.KindUser && c.code.Symbols != nil && !c.code.Rehearsing {
			found.Stack.Largest = c.largestLocal(st, o.Frame)
		}
		out = append(out, found)
	}
	return out
}
