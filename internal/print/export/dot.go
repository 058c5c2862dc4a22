package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Dot writes the wait-for graph for Graphviz: threads are boxes, the objects that they wait for are ellipses,
// and cycles are red.
func Dot(out io.Writer, pic *picture.Picture) error {
	g := waitgraph.NewGraph(pic)
	w := bufio.NewWriter(out)
	w.WriteString("// ompd-inspect: the wait-for graph; an edge leads to what must make progress first\n")
	w.WriteString("digraph waits {\n\tnode [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=10];\n")
	threads := map[int]*picture.Thread{}
	for i := range pic.Threads {
		threads[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	for _, n := range g.Nodes {
		label, shape := phrase.Target(n.Target), "ellipse"
		if n.Kind == waitgraph.Thread {
			label, shape = dotThread(n.LWP, threads[n.LWP]), "box"
		}
		const node = "\t%s [label=%s, shape=%s%s];\n"
		fmt.Fprintf(w, node, dotQuote(n.ID), dotQuote(label), shape, dotColor(n.Cyclic))
	}
	for _, e := range g.Edges {
		label := string(e.Relation)
		if e.Certainty != "" && e.Certainty != picture.Certain {
			label += " (" + string(e.Certainty) + ")"
		}
		if e.At != nil {
			label += "\n" + phrase.Where(*e.At)
		}
		const edge = "\t%s -> %s [label=%s%s];\n"
		fmt.Fprintf(w, edge, dotQuote(e.From), dotQuote(e.To), dotQuote(label), dotColor(e.Cyclic))
	}
	w.WriteString("}\n")
	return w.Flush()
}

// dotThread returns the label of a thread: its name, its numbers and its place.
func dotThread(lwp int, t *picture.Thread) string {
	s := fmt.Sprintf("LWP %d", lwp)
	if t == nil {
		return s
	}
	if n := phrase.Numbers(*t); n != "" {
		s = "thread " + n + " (" + s + ")"
	}
	if t.WaitKind == picture.WaitSleep {
		s += "\nsleeps (" + phrase.Sleeping(t.WaitName, t.Sleep) + ")"
	}
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		s += "\n" + phrase.Where(f)
	}
	return s
}

func dotColor(cyclic bool) string {
	if cyclic {
		return `, color="#c0392b", penwidth=2`
	}
	return ""
}

// dotQuote quotes a string for Graphviz; of the control characters, only line ends are kept.
func dotQuote(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.ReplaceAll(phrase.Printable(line), `\`, `\\`)
		lines = append(lines, strings.ReplaceAll(line, `"`, `\"`))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
