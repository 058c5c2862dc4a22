package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxContended is how many locks are named with their holders before all else: the answer stays within the
// first ten lines.
const maxContended = 3

// Contention says in one line each which thread holds the locks that most threads wait for, and how many more
// there are. A lock of which a verdict of a hang says it is left out.
func Contention(pic *picture.Picture) []string {
	list := unexplained(pic, waitgraph.Contention(pic))
	threads := threadsOf(pic)
	var lines []string
	for _, c := range list[:min(len(list), maxContended)] {
		lines = append(lines, contendedLine(threads, c))
	}
	if more := len(list) - maxContended; more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more such locks; the table of threads has their holders", more))
	}
	return lines
}

// unexplained leaves out what all waiters wait for that a verdict of a hang names.
func unexplained(pic *picture.Picture, list []waitgraph.Contended) []waitgraph.Contended {
	named := map[int]bool{}
	for _, v := range pic.Verdicts {
		if v.Severity == picture.SeverityHang {
			for _, lwp := range v.Threads {
				named[lwp] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(c waitgraph.Contended) bool {
		return slices.ContainsFunc(c.Waiters, func(lwp int) bool { return named[lwp] })
	})
}

// threadsOf are the threads of a picture by LWP.
func threadsOf(pic *picture.Picture) map[int]*picture.Thread {
	out := map[int]*picture.Thread{}
	for i := range pic.Threads {
		out[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	return out
}

// contendedLine is "lock table_lock: held by thread 0 (LWP 30262) in rehash slowholder.c:8, acquired at
// slowholder.c:12; 3 threads wait".
func contendedLine(threads map[int]*picture.Thread, c waitgraph.Contended) string {
	s := phrase.Target(c.Target) + ": "
	switch n := len(c.Holders); {
	case n == 0 && len(c.Possible) == 1:
		s += "its holder is not known: perhaps " + holderText(threads, c.Possible[0])
	case n == 0 && len(c.Possible) > 1:
		s += fmt.Sprintf("its holder is not known: by their code, %d threads may hold it", len(c.Possible))
	case n == 0:
		s += "its holder is not known: " + c.Unknown
	default:
		s += "held by " + holderText(threads, c.Holders[0])
		shared := c.Target.Kind == picture.WaitReadWrite
		if shared && n > 1 {
			s += fmt.Sprintf(", and by %d more", n-1)
		} else if n > 1 && c.Holders[1].Certainty == c.Holders[0].Certainty {
			s += fmt.Sprintf(", or by one of %d others", n-1)
		}
		if c.Unknown != "" {
			s += "; " + c.Unknown
		}
	}
	wait := "1 thread waits"
	if n := len(c.Waiters); n > 1 {
		wait = fmt.Sprintf("%d threads wait", n)
	}
	return s + "; " + wait
}

// holderText names a thread that holds a lock, where it is, and where it acquired it.
func holderText(threads map[int]*picture.Thread, h waitgraph.Holder) string {
	s := fmt.Sprintf("LWP %d", h.LWP)
	if t := threads[h.LWP]; t != nil {
		s = phrase.NumberedThread(*t)
		if f, ok := phrase.InnermostUser(t.UserStack); ok {
			s += " in " + phrase.Where(f)
		}
	}
	if h.At != nil {
		at := h.At.Place()
		if at == "" {
			at = phrase.Where(*h.At)
		}
		s += ", acquired at " + at
	}
	if h.Certainty == picture.Possible {
		s += ", on some paths through its code"
	} else if h.Certainty != picture.Certain {
		s += " (" + string(h.Certainty) + ")"
	}
	return s
}

// printContention prints these lines, after an empty one if they are indented.
func (p *Printer) printContention(indent string, pic *picture.Picture) {
	for i, s := range Contention(pic) {
		if i == 0 && indent != "" {
			p.line("")
		}
		if name, rest, ok := strings.Cut(s, ": "); ok {
			s = p.name(name) + ": " + rest
		}
		p.wrapped(indent, s)
	}
}

// holdings are what the threads of a picture hold and others wait for, as a cell of a table has it.
func holdings(pic *picture.Picture) map[int]string {
	out := map[int]string{}
	for lwp, list := range waitgraph.Holdings(waitgraph.Contention(pic)) {
		out[lwp] = phrase.Held(list)
	}
	return out
}
