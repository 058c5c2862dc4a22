package cli

import (
	"io"
	"runtime"

	"github.com/ompd-inspect/ompd-inspect/job"
)

// linesPerLook is in how many lines a node tells of one look at its ranks.
const linesPerLook = 4

// halfOfProcessors leaves the other half to the ranks.
func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// nodeParts writes parts as lines, several ranks in each.
type nodeParts struct {
	out     io.Writer
	waiting *job.Part
	count   int
	every   int // ranks in a line
	err     error
}

// add takes a part, and writes a line now and then.
func (n *nodeParts) add(p *job.Part) {
	n.waiting.Merge(p)
	if n.count++; n.count%n.every == 0 {
		n.flush()
	}
}

// flush writes what was not written yet.
func (n *nodeParts) flush() {
	line, err := n.waiting.Encode()
	if err == nil {
		_, err = n.out.Write(line)
	}
	if n.err == nil {
		n.err = err
	}
	n.waiting = job.NewPart()
}
