package web

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// band is the row of many threads: for each moment, the number of threads in each activity.
func (p *linePlan) band(rows []*picture.TimelineRow) *band {
	b := &band{Title: phrase.Count(len(rows), "other thread"), Detail: fmt.Sprintf("from none to %d", len(rows))}
	lwps := make([]int, 0, len(rows))
	did := map[string]*[bandParts]float64{}
	part := float64(p.Nanoseconds) / bandParts
	for _, r := range rows {
		lwps = append(lwps, r.Thread)
		for _, s := range r.Spans {
			class := lineClass(p.activity(s).Kind)
			if did[class] == nil {
				did[class] = new([bandParts]float64)
			}
			p.used[class] = true
			spread(did[class], float64(s.Begin)/part, float64(s.End)/part)
		}
	}
	b.Whole = fmt.Sprintf("%s, %s: %s", b.Title, p.names.list(lwps), p.shares(rows))
	var below [bandParts]float64
	for _, c := range lineClasses {
		if did[c.Class] != nil {
			b.Layers = append(b.Layers, strip{c.Class, p.layer(did[c.Class], &below, float64(len(rows)))})
		}
	}
	return b
}

// spread adds a span to the parts of the time that it covers.
func spread(to *[bandParts]float64, begin, end float64) {
	begin, end = min(max(begin, 0), bandParts), min(max(end, 0), bandParts)
	for i := int(begin); i < bandParts && float64(i) < end; i++ {
		to[i] += min(end, float64(i+1)) - max(begin, float64(i))
	}
}

// layer returns the outline of one activity's number of threads, on top of the layers below.
func (p *linePlan) layer(n, below *[bandParts]float64, all float64) string {
	var up, down strings.Builder
	y := func(v float64) string { return fmt.Sprintf("%.1f", bandHeight*(1-v/all)) }
	for i := range bandParts {
		fmt.Fprintf(&up, "%c%d %sH%d", "ML"[min(i, 1)], lineLead+i*linePlot/bandParts, y(below[i]+n[i]),
			lineLead+(i+1)*linePlot/bandParts)
		j := bandParts - 1 - i
		fmt.Fprintf(&down, "L%d %sH%d", lineLead+(j+1)*linePlot/bandParts, y(below[j]), lineLead+j*linePlot/bandParts)
	}
	for i := range bandParts {
		below[i] += n[i]
	}
	return up.String() + down.String() + "z"
}
