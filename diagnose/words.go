package diagnose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxNamed bounds the threads, or the steps of a cycle, that one sentence names.
const maxNamed = 4

// innermost returns the innermost frame of the program's own code, or the next outer one in the same module that has a
// name.
func innermost(fs []picture.Frame) (picture.Frame, bool) {
	i := picture.InnermostUser(fs)
	if i < 0 {
		return picture.Frame{}, false
	}
	return fs[i], true
}

// innermostWithLine returns the innermost frame of the program with a line.
func innermostWithLine(fs []picture.Frame) (picture.Frame, bool) {
	i := slices.IndexFunc(fs, func(f picture.Frame) bool { return f.Kind == picture.FrameUser && f.Line != 0 })
	if i < 0 {
		return picture.Frame{}, false
	}
	return fs[i], true
}

// place returns "foo x.c:12".
func place(f picture.Frame) string {
	name := phrase.WithoutParameters(cmp.Or(f.In, f.Function))
	switch {
	case f.In == "" && f.Construct != "":
		name = f.Called() // not the compiler's name
	case name == "":
		name = f.Spot()
	}
	if f.Line != 0 {
		name += " " + f.Place()
	}
	return name
}

// innermostPlace returns " in foo x.c:12", the innermost place of the program on a stack, or "".
func innermostPlace(fs []picture.Frame) string {
	if f, ok := innermost(fs); ok {
		return " in " + place(f)
	}
	return ""
}

// innermostLine is innermostPlace, and "" without a line.
func innermostLine(fs []picture.Frame) string {
	if f, ok := innermost(fs); ok && f.Line != 0 {
		return " in " + place(f)
	}
	return ""
}

// placeAfter returns the place of a frame after a prefix such as " in "; "" without a line.
func placeAfter(prefix string, f *picture.Frame) string {
	if f == nil || f.Line == 0 {
		return ""
	}
	return prefix + place(*f)
}

// lineAfter returns the line of a frame after a prefix such as " at "; "" without a line.
func lineAfter(prefix string, f *picture.Frame) string {
	if f == nil || f.Line == 0 {
		return ""
	}
	return prefix + f.Place()
}

// sourceLine returns the line of the innermost frame of the program's own code, and for a function that is inlined
// from another file, such as a header, also the line of the call.
func sourceLine(fs []picture.Frame) string {
	f, _ := innermost(fs)
	text := f.Place()
	if !f.Inlined {
		return text
	}
	own := slices.IndexFunc(fs, func(o picture.Frame) bool { return o.Kind == picture.FrameUser && !o.Inlined })
	if own < 0 || fs[own].Line == 0 || fs[own].File == f.File {
		return text
	}
	return fmt.Sprintf("%s (inlined at %s)", text, fs[own].Place())
}

// hasLine reports whether the source line of a construct is known.
func hasLine(c *picture.Code) bool { return c != nil && c.Line != 0 }

// codePlace returns "x.c:12", the source line of a construct.
func codePlace(c *picture.Code) string { return fmt.Sprintf("%s:%d", filepath.Base(c.File), c.Line) }

// threadCount returns "1 thread" or "3 threads".
func threadCount(n int) string { return phrase.Count(n, "thread") }

// pronoun returns the pronoun for n threads.
func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// firstTargets names the first few of several objects of waits, and the number of the others.
func firstTargets(targets []picture.WaitTarget) string {
	var names []string
	for _, t := range targets[:min(len(targets), maxNamed)] {
		names = append(names, phrase.Awaited(t))
	}
	return phrase.Some(names, maxNamed, len(targets))
}

// firstSteps returns the first few steps of a cycle as clauses, and the number of the others.
func firstSteps(cycle []picture.CycleStep, text func(picture.CycleStep) string) string {
	var parts []string
	for _, s := range cycle[:min(len(cycle), maxNamed)] {
		parts = append(parts, text(s))
	}
	return phrase.Clauses(parts, maxNamed, len(cycle))
}

// enumerate returns "a, b and c".
func enumerate(names []string) string {
	out := names[0]
	for i, n := range names[1:] {
		if i == len(names)-2 {
			out += " and " + n
		} else {
			out += ", " + n
		}
	}
	return out
}
