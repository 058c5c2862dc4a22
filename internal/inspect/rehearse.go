package inspect

import "github.com/ompd-inspect/ompd-inspect/picture"

// Rehearse reads what Picture reads for the wanted parts, and, if verdicts are wanted,
// what Facts reads. It is used on a running process, to find out which memory the answer
// will need: it makes the answer, but for the names of code, which are in files.
func (in *Inspector) Rehearse(want picture.Parts, verdicts bool) {
	in.code.Rehearsing = true
	defer func() { in.code.Rehearsing = false }()
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
	in.model.Constructs()
	for _, v := range in.regions.All() {
		if n := in.regions.Primary(v); v.Err == nil && n != nil {
			n.Stack()
		}
	}
}
