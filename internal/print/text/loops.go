package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxLoops is how many threads' places in loops are listed, those that are alike as one.
const maxLoops = 16

// loops prints where threads are in worksharing loops and sections, as far as that is
// known.
func loops(p *Printer, pic *picture.Picture) {
	var order []string
	of := map[string][]int{}
	for _, t := range pic.Threads {
		if t.Loop == nil {
			continue
		}
		key := phrase.Loop(*t.Loop)
		if p.all {
			key = fmt.Sprint(t.LWP, " ", key)
		}
		if len(of[key]) == 0 {
			order = append(order, key)
		}
		of[key] = append(of[key], t.LWP)
	}
	if len(order) == 0 {
		return
	}
	p.line("")
	p.line(p.bold("LOOPS"))
	for i, key := range order {
		if i == maxLoops && !p.all {
			p.linef("  … %d more; --all shows them", len(order)-i)
			break
		}
		if p.all {
			_, key, _ = strings.Cut(key, " ")
			p.wrapped(fmt.Sprintf("  LWP %d  ", of[order[i]][0]), key)
			continue
		}
		p.wrapped("  LWP "+p.lwps(of[key])+"  ", key)
	}
}
