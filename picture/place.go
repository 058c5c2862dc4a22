package picture

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
)

// Spot returns the place of code in a function without a name: module and offset, as addr2line accepts them,
// else the address, else the module alone: the frame stands for several places in it. It returns "" if all are unknown.
func (f *Frame) Spot() string {
	switch {
	case f.Module != "" && f.Function == "" && f.Offset != 0 && f.PC == nil && f.Entry != nil:
		return fmt.Sprintf("function %s+%#x", f.Module, f.Offset)
	case f.Module != "" && f.Function == "" && f.Offset != 0:
		return fmt.Sprintf("%s+%#x", f.Module, f.Offset)
	case f.PC != nil:
		return f.PC.String()
	case f.Entry != nil:
		return "function " + f.Entry.String()
	case f.Function == "":
		return f.Module
	}
	return ""
}

// Place returns the place of a frame in the source, as "x.c:12" or, for code without a line of its own, "near x.c:12",
// or "x.py:12 (Python)"; the file is its base name. An unknown file or line is left out.
func (f *Frame) Place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return filepath.Base(f.File)
	case f.Language != "":
		return fmt.Sprintf("%s:%d (%s)", filepath.Base(f.File), f.Line, f.Language)
	case f.Near:
		return fmt.Sprintf("near %s:%d", filepath.Base(f.File), f.Line)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}

// Guess returns the mark of an inferred frame, which is the same in all outputs of stacks. It is "" for other frames.
func (f *Frame) Guess() string {
	if f.How == "" {
		return ""
	}
	return "guessed: " + f.How
}

// Called returns the name of a frame's function, or its place. An outlined function has the name of the function that
// contains the construct, because the compiler's name is not in the source.
func (f *Frame) Called() string {
	switch {
	case f.Construct == "":
		return cmp.Or(f.Function, f.Spot())
	case f.In == "":
		return "a " + constructName(f.Construct)
	}
	return "the " + constructName(f.Construct) + " of " + f.In
}

// constructName returns the name of a kind of construct for people.
func constructName(kind string) string {
	switch kind {
	case "parallel":
		return "parallel region"
	case "target":
		return "target region"
	case "teams":
		return "teams region"
	case "outlined": // the construct is unknown
		return "construct"
	}
	return kind
}

// Called returns the name of a function, or its place.
func (c *Code) Called() string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Module != "":
		return fmt.Sprintf("%s+%#x", c.Module, c.Offset)
	case c.Address != nil:
		return c.Address.String()
	}
	return ""
}

// Place returns the place and the device of a target construct: "saxpy solve.c:31 on device 0". A data construct
// is known by its device, or by the call where that is unknown.
func (t *TargetConstruct) Place() string {
	var parts []string
	if t.Construct == "target" || t.Device == nil && !t.DefaultDevice {
		at := Frame{File: t.File, Line: t.Line}
		place := at.Place()
		if place == "" && t.Line != 0 {
			place = fmt.Sprintf("line %d", t.Line)
		}
		parts = append(parts, strings.TrimSpace(t.Function+" "+place))
	}
	switch {
	case t.OnHost:
		parts = append(parts, "on the host")
	case t.Device != nil:
		parts = append(parts, fmt.Sprintf("on device %d", *t.Device))
	case t.DefaultDevice:
		parts = append(parts, "on the default device")
	}
	return strings.Join(parts, " ")
}
