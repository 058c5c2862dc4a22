// Package export writes pictures in the formats of other tools: folded stacks for flame
// graphs, speedscope's, and Graphviz's.
package export

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Folded writes one merged stack per line, outermost frame first, with its number of threads: "main;solve
// [parallel];<OMP-barrier> 3", as scripts for flame graphs read them.
func Folded(out io.Writer, pic *picture.Picture) error {
	w := bufio.NewWriter(out)
	for _, s := range pic.Stacks {
		writeFolded(w, s.Frames, s.Count)
	}
	return w.Flush()
}

// writeFolded writes the line of a stack with its size. The error comes from w.Flush.
func writeFolded(w *bufio.Writer, frames []picture.Frame, size int) {
	for i := len(frames) - 1; i >= 0; i-- {
		w.WriteString(foldedName(frames[i]))
		if i > 0 {
			w.WriteByte(';')
		}
	}
	w.WriteString(" " + strconv.Itoa(size) + "\n")
}

// foldedName returns a frame without the separator of frames.
func foldedName(f picture.Frame) string {
	return strings.ReplaceAll(phrase.Printable(phrase.WhereWhole(f)), ";", ":")
}

// SpeedscopeSchema names the format of a file for speedscope, at its start.
const SpeedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// speedscope is a file for speedscope.
type speedscope struct {
	Schema   string              `json:"$schema"`
	Exporter string              `json:"exporter"`
	Name     string              `json:"name"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// speedscopeProfile contains a sample for each different stack, weighted by the number of its threads.
type speedscopeProfile struct {
	Type       string  `json:"type"`
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	StartValue int     `json:"startValue"`
	EndValue   int     `json:"endValue"`
	Samples    [][]int `json:"samples"`
	Weights    []int   `json:"weights"`
}

// Speedscope writes the merged stacks as a profile for speedscope, in which a thread is a
// unit of weight.
func Speedscope(w io.Writer, pic *picture.Picture) error {
	name := phrase.Printable(string(pic.Target.Kind) + " " + pic.Target.Name())
	p := speedscopeProfile{Type: "sampled", Name: "threads", Unit: "none", Samples: [][]int{}, Weights: []int{}}
	frames := newFrameTable()
	for _, s := range pic.Stacks {
		p.Samples, p.Weights = append(p.Samples, frames.sample(s.Frames)), append(p.Weights, s.Count)
		p.EndValue += s.Count
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(speedscope{
		Schema: SpeedscopeSchema, Exporter: "ompd-inspect", Name: name,
		Shared: speedscopeShared{frames.list}, Profiles: []speedscopeProfile{p},
	})
}

// frameTable is the table of frames of a file for speedscope.
type frameTable struct {
	list []speedscopeFrame
	at   map[speedscopeFrame]int
}

func newFrameTable() *frameTable { return &frameTable{[]speedscopeFrame{}, map[speedscopeFrame]int{}} }

// frameOf returns a frame in the form of speedscope.
func frameOf(f picture.Frame) speedscopeFrame {
	return speedscopeFrame{phrase.Printable(phrase.WhereWhole(f)), phrase.Printable(f.File), f.Line}
}

// sample returns the numbers of the frames of a stack, outermost first.
func (t *frameTable) sample(frames []picture.Frame) []int {
	sample := make([]int, 0, len(frames))
	for i := len(frames) - 1; i >= 0; i-- {
		one := frameOf(frames[i])
		if _, ok := t.at[one]; !ok {
			t.at[one] = len(t.list)
			t.list = append(t.list, one)
		}
		sample = append(sample, t.at[one])
	}
	return sample
}
