package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// printRank prints the rank of a process in its job, and the calls of MPI in which its threads wait.
func printRank(p *Printer, pic *picture.Picture) {
	if r := pic.Target.Rank; r != nil {
		s := fmt.Sprintf("%d", r.Rank)
		if r.Size != 0 {
			s += fmt.Sprintf(" of %d", r.Size)
		}
		if r.Job != "" {
			s += ", job " + r.Job
		}
		if r.Host != "" {
			s += ", host " + r.Host
		}
		p.linef("rank %s (%s)", s, r.Source)
	}
	for _, t := range pic.Threads {
		if t.MPI != nil {
			p.wrapped("in MPI  ", fmt.Sprintf("LWP %d: %s", t.LWP, mpiCall(t.MPI)))
		}
	}
}

// mpiCall is a call of MPI as people write it, and what is lost of it.
func mpiCall(c *picture.MPICall) string {
	var args []string
	add := func(format string, value any) { args = append(args, fmt.Sprintf(format, value)) }
	if c.Count != nil {
		add("count %d", *c.Count)
	}
	for _, s := range []string{c.Type, c.Op} {
		if s != "" {
			args = append(args, s)
		}
	}
	switch {
	case c.AnySource:
		args = append(args, "from any rank")
	case c.Peer != nil:
		add("rank %d", *c.Peer)
	}
	switch {
	case c.AnyTag:
		args = append(args, "any tag")
	case c.Tag != nil:
		add("tag %d", *c.Tag)
	}
	if c.Communicator != "" {
		args = append(args, c.Communicator)
	}
	s := c.Routine
	if len(args) > 0 {
		s += "(" + strings.Join(args, ", ") + ")"
	}
	if len(c.Lost) > 0 {
		s += "; lost: " + strings.Join(c.Lost, ", ")
	}
	return s
}
