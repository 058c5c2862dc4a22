package picture

import (
	"cmp"
	"fmt"
	"path/filepath"
)

// Spot is where code is whose function has no name: in its module, as addr2line takes it, else
// by its address. It is empty if neither is known.
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
	}
	return ""
}

// Place is the place of a frame in the source, as "x.c:12" or, of code without a line of its own, "near x.c:12"; the
// file is its base name, or missing, as the line is, if that is not known.
func (f *Frame) Place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return filepath.Base(f.File)
	case f.Near:
		return fmt.Sprintf("near %s:%d", filepath.Base(f.File), f.Line)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}

// Called is what the function of a frame is called, or where it is. One that a compiler made of
// a construct is called by the function of the program that has the construct: the compiler's
// name for it is in no source.
func (f *Frame) Called() string {
	switch {
	case f.Construct == "":
		return cmp.Or(f.Function, f.Spot())
	case f.In == "":
		return "a " + constructName(f.Construct)
	}
	return "the " + constructName(f.Construct) + " of " + f.In
}

// constructName is what people call a kind of construct.
func constructName(kind string) string {
	switch kind {
	case "parallel":
		return "parallel region"
	case "outlined": // of which construct, is not known
		return "construct"
	}
	return kind
}

// Called is what a function is called, or where it is.
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
