package web

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// source is some lines of a source file.
type source struct {
	Name  string
	Lines []sourceLine
}

// sourceLine is a source line, marked if it has notes.
type sourceLine struct {
	Number int
	Text   string
	Marks  []string
}

// Bounds of the shown sources.
const (
	maxSources    = 24
	sourceAround  = 4       // lines before and after a marked one
	maxSourceFile = 4 << 20 // bytes
	maxSourceLine = 200     // characters
	tabWidth      = 4
)

// spot is a source line with notes.
type spot struct {
	file string
	line int
	said string
}

// newSources returns the source lines in verdicts, as far as their files are available.
func newSources(spots []spot, open func(string) (io.ReadCloser, error)) (out []source) {
	if open == nil {
		return nil
	}
	byFile, order := map[string][]spot{}, []string{}
	for _, s := range spots {
		if len(byFile[s.file]) == 0 {
			order = append(order, s.file)
		}
		byFile[s.file] = append(byFile[s.file], s)
	}
	for _, file := range order[:min(len(order), maxSources)] {
		if one := excerpt(file, byFile[file], open); len(one.Lines) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// verdictSpots returns the source lines in a verdict: where threads wait, where they acquired what others wait for,
// and where they are instead of at a barrier.
func verdictSpots(v *picture.Verdict, n *names) (out []spot) {
	seen := map[spot]bool{}
	add := func(f *picture.Frame, said string) {
		if f == nil || f.File == "" || f.Line <= 0 {
			return
		}
		if s := (spot{f.File, f.Line, said}); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for _, s := range v.Cycle {
		add(innermost(s.Frames), fmt.Sprintf("%s waits here for %s", n.nameOf(s.Thread), phrase.Target(s.WaitsFor)))
		add(s.HeldAt, fmt.Sprintf("%s acquired here what %s waits for", n.nameOf(s.HeldBy), n.nameOf(s.Thread)))
	}
	for _, m := range v.Missing {
		add(m.Frame, n.nameOf(m.Thread)+" is here, and not at the barrier")
	}
	if len(v.Cycle)+len(v.Missing) > 0 || v.Severity == picture.SeverityInfo || v.Severity == picture.SeverityCrash {
		return out
	}
	for _, lwp := range v.Threads[:min(len(v.Threads), maxSources)] {
		if t := n.threads[lwp]; t != nil {
			add(innermost(t.UserStack), n.nameOf(lwp)+" is here")
		}
	}
	return out
}

// crashSpots returns the source line at which the program died.
func crashSpots(pic *picture.Picture) []spot {
	t := pic.Target
	f := innermost(t.Frames)
	if t.Signal == "" || f == nil || f.File == "" || f.Line <= 0 {
		return nil
	}
	return []spot{{f.File, f.Line, fmt.Sprintf("%s came here, in LWP %d", t.Signal, t.CrashedLWP)}}
}

// innermost returns the innermost frame of the program; nil without one.
func innermost(fs []picture.Frame) *picture.Frame {
	if i := picture.InnermostUser(fs); i >= 0 {
		return &fs[i]
	}
	return nil
}

// sourceEndings are the name endings of source files. Debug information may name any file: a page may be shared
// and must not show other files.
var sourceEndings = []string{
	".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tpp", ".cu", ".go",
	".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08", ".fpp", ".fi",
}

// excerpt returns the lines around the spots of a file; empty without the file.
func excerpt(file string, spots []spot, open func(string) (io.ReadCloser, error)) source {
	out := source{Name: file}
	if !slices.Contains(sourceEndings, strings.ToLower(filepath.Ext(file))) {
		return out
	}
	f, err := open(file)
	if err != nil {
		return out // the file is missing; the place is shown elsewhere
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSourceFile))
	if err != nil || bytes.IndexByte(b, 0) >= 0 {
		return out
	}
	slices.SortStableFunc(spots, func(x, y spot) int { return cmp.Compare(x.line, y.line) })
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxSourceFile+1)
	for number := 1; lines.Scan() && len(spots) > 0; number++ {
		for len(spots) > 1 && spots[0].line+sourceAround < number {
			spots = spots[1:]
		}
		near := func(s spot) bool { return max(s.line-number, number-s.line) <= sourceAround }
		if !slices.ContainsFunc(spots, near) {
			continue
		}
		text := strings.ReplaceAll(strings.TrimRight(lines.Text(), "\r"), "\t", strings.Repeat(" ", tabWidth))
		one := sourceLine{Number: number, Text: clip(text, maxSourceLine)}
		for _, s := range spots {
			if s.line == number {
				one.Marks = append(one.Marks, s.said)
			}
		}
		out.Lines = append(out.Lines, one)
	}
	return out
}

// GapBefore reports whether lines were left out before line i.
func (s source) GapBefore(i int) bool { return i > 0 && s.Lines[i].Number > s.Lines[i-1].Number+1 }
