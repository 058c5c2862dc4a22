package history

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// rowPlace identifies a construct in the source. Compilers make several copies of one construct.
type rowPlace struct {
	says, function, file, in string
	line                     int
	lock                     picture.Hex
}

// alike merges the rows of one construct at one line and sorts the rows by time, longest first. Rows without a line
// are not merged.
func alike(rows []picture.Statistic) []picture.Statistic {
	at := map[rowPlace]int{}
	out := rows[:0]
	for _, r := range rows {
		if r.Frame == nil || r.Frame.Line == 0 {
			out = append(out, r)
			continue
		}
		key := rowPlace{says: r.Text, function: r.Frame.Function, file: r.Frame.File, in: r.Frame.In,
			line: r.Frame.Line}
		if r.Lock != nil {
			key.lock = *r.Lock
		}
		i, known := at[key]
		if !known {
			at[key] = len(out)
			out = append(out, r)
			continue
		}
		addRow(&out[i], &r)
	}
	slices.SortStableFunc(out, func(a, b picture.Statistic) int { return cmp.Compare(b.Total, a.Total) })
	return out
}

// addRow adds the row of another copy of a construct. It takes the late thread of the copy in which it was late more
// often, and the holder of the copy with the longer wait.
func addRow(to, r *picture.Statistic) {
	if r.LastCount > to.LastCount && r.Last != to.Last {
		to.Last, to.LastCount = r.Last, r.LastCount
	} else if r.Last == to.Last {
		to.LastCount += r.LastCount
	}
	if r.Waited > to.Waited && r.Holder != nil {
		to.Holder = r.Holder
	}
	to.Count, to.Open, to.Threads = to.Count+r.Count, to.Open+r.Open, max(to.Threads, r.Threads)
	to.Total, to.Longest = to.Total+r.Total, max(to.Longest, r.Longest)
	to.Contended, to.Waited = to.Contended+r.Contended, to.Waited+r.Waited
	to.Imbalance, to.Barriers = to.Imbalance+r.Imbalance, to.Barriers+r.Barriers
}
