package inspect

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// standsBetween reports whether the code at pc is not the program's, though it lies in its
// executable or in a library of its own: it calls main, belongs to a sanitizer or to a C library
// that was linked in, or is a function for locks, conditions or semaphores that takes the place
// of the C library's, which it calls.
func (c *codeNames) standsBetween(pc uint64, mod *callbacks.Module) bool {
	if c.sym == nil {
		return false
	}
	is, known := c.between[pc]
	if !known {
		var f symbolize.Frame
		var err error
		if name, _ := c.sym.Linkage(pc); !ordinaryCXX(name) {
			f, err = c.sym.Function(pc)
		}
		is = err == nil && (mod.Main && (libc.StartsProgram(f.Function) || libc.Waits(f.Function) && c.linked()) ||
			libc.InSanitizer(f.Function))
		if name, _, ok := c.sym.Exported(pc); !is && ok {
			is = rtl.Interposes(name) || c.intercepts(name, mod)
		}
		c.between[pc] = is
	}
	return is
}

// ordinaryCXX reports whether a symbol is that of a C++ function whose outermost scope has no name that is reserved
// for the language's libraries, as those of sanitizers: it need not be demangled.
func ordinaryCXX(symbol string) bool {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	return ok && !strings.HasPrefix(strings.TrimLeft(rest, "NKLrVS0123456789"), "__")
}

// intercepts reports whether a function that a module exports is a sanitizer's in place of that
// of the C library: it has another name there, too.
func (c *codeNames) intercepts(name string, mod *callbacks.Module) bool {
	if _, ok := c.sym.Lookup(name, "libc.so.6"); !ok {
		return false
	}
	_, ok := c.sym.Lookup("__interceptor_"+name, mod.Path)
	return ok
}

// systemFunction is the function of the C library that f is in, without the underscores that
// its name begins with; not ok if f is not in the C library, or what stands before it. The
// name is empty if it is not known.
func (c *codeNames) systemFunction(f unwind.Frame) (name string, ok bool) {
	switch {
	case f.Module == nil:
		return "", false
	case libc.IsSystem(f.Module.Path):
		name, _, _ = c.sym.Exported(f.LookupPC())
	case c.kindOf(f) != kindSystem:
		return "", false
	default:
		at, _ := c.sym.Function(f.LookupPC()) // no name if it is not known
		name = strings.Replace(at.Function, "__interceptor_", "", 1)
	}
	return strings.TrimLeft(name, "_"), true
}
