package stacks

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// KindOf returns the owner of a frame's code.
func (c *Code) KindOf(f unwind.Frame) Kind {
	pc := f.LookupPC()
	if c.InRuntime(pc) || c.IsRecorder(&f) {
		return KindRuntime
	}
	if f.Module == nil && c.Unwinder != nil && c.Unwinder.IsGenerated(pc) && !f.Signal {
		return KindUser
	}
	if f.Module == nil || libc.IsSystem(f.Module.Path) || libc.IsSanitizer(f.Module.Path) {
		return KindSystem
	}
	if c.isGlue(f) || rtl.IsOffloadModule(f.Module.Path) {
		return KindGlue
	}
	if c.isInterposed(pc, f.Module) {
		return KindSystem
	}
	return KindUser
}

// recorderFile is the file name of the recorder, a library between a program and its runtime.
const recorderFile = "libompd-recorder.so"

// IsRecorder reports whether a frame is the recorder's.
func (*Code) IsRecorder(f *unwind.Frame) bool {
	return f.Module != nil && filepath.Base(f.Module.Path) == recorderFile
}

// InRuntime reports whether the code at pc is an OpenMP runtime's.
func (c *Code) InRuntime(pc uint64) bool {
	return slices.ContainsFunc(c.runtimes, func(rt rtl.Runtime) bool { return rt.Owns(pc) })
}

// startsProgram reports whether pc is in the code that calls main.
func (c *Code) startsProgram(pc uint64) bool {
	if c.Symbols == nil {
		return false
	}
	f, err := c.Symbols.Function(pc)
	return err == nil && libc.StartsProgram(f.Function)
}

// starts reports whether pc is in the first function of a thread, or in the code that calls main.
func (c *Code) starts(pc uint64) bool { return c.startsThread(pc) || c.startsProgram(pc) }

// startsThread reports whether pc is in the C library's start function of threads.
func (c *Code) startsThread(pc uint64) bool {
	if c.Symbols == nil {
		return false
	}
	f, err := c.Symbols.Function(pc)
	return err == nil && libc.StartsThread(f.Function)
}

// isInterposed reports whether the code at pc is not the program's, though it is in the program's files:
// it calls main, belongs to a sanitizer or a statically linked C library, or replaces a function of the C
// library for locks, conditions or semaphores and calls it.
func (c *Code) isInterposed(pc uint64, mod *callbacks.Module) bool {
	if c.Symbols == nil {
		return false
	}
	is, known := c.interposed[pc]
	if !known {
		var f symbolize.Frame
		var err error
		if name, _ := c.Symbols.Linkage(pc); !isOrdinaryCXX(name) {
			f, err = c.Symbols.Function(pc)
		}
		is = err == nil && (mod.Main && (libc.StartsProgram(f.Function) || libc.Waits(f.Function) && c.linkedIn()) ||
			libc.InSanitizer(f.Function))
		if name, _, ok := c.Symbols.Exported(pc); !is && ok {
			is = rtl.Interposes(name) || c.isInterceptor(name, mod)
		}
		c.interposed[pc] = is
	}
	return is
}

// isOrdinaryCXX reports whether a symbol is a C++ function outside the scopes of sanitizers. It need not be
// demangled.
func isOrdinaryCXX(symbol string) bool {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	return ok && !libc.InSanitizer(strings.TrimLeft(rest, "NKLrVS0123456789"))
}

// isInterceptor reports whether an exported function is a sanitizer's replacement of a function of the C
// library: the module also exports it with the interceptor's prefix.
func (c *Code) isInterceptor(name string, mod *callbacks.Module) bool {
	if _, ok := c.Symbols.Lookup(name, "libc.so.6"); !ok {
		return false
	}
	_, ok := c.Symbols.Lookup("__interceptor_"+name, mod.Path)
	return ok
}

// SystemFunction returns the name of the function of the C library, or of its replacement, that f is in,
// without leading underscores. It is not ok if f is elsewhere. The name is empty if it is unknown.
func (c *Code) SystemFunction(f unwind.Frame) (name string, ok bool) {
	switch {
	case f.Module == nil:
		return "", false
	case libc.IsSystem(f.Module.Path):
		name, _, _ = c.Symbols.Exported(f.LookupPC())
	case c.KindOf(f) != KindSystem:
		return "", false
	default:
		at, _ := c.Symbols.Function(f.LookupPC()) // no name if it is not known
		name = strings.Replace(at.Function, "__interceptor_", "", 1)
	}
	return strings.TrimLeft(name, "_"), true
}

// goGlue matches Go functions that no user wrote: the runtime, the functions between Go and C, and the
// wrappers of go statements.
var goGlue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(runtime|runtime/.*|internal/runtime/.*)\.|^_cgoexp_|^crosscall2|\._Cfunc_|\.gowrap\d+$`)
})

// cGlue matches the C functions of a Go program that no user wrote.
var cGlue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^_cgo_|^x_cgo_|^crosscall1$|^threadentry$`)
})

// exportFile has the C functions by which C calls Go.
const exportFile = "_cgo_export.c"

// isGlue reports whether the code of f belongs to Go's runtime, or connects Go and C.
func (c *Code) isGlue(f unwind.Frame) bool {
	pc := f.LookupPC()
	if f.Go {
		name, _, _, _ := c.Unwinder.GoFunction(pc)
		return goGlue().MatchString(name)
	}
	if !c.Unwinder.HasGo(pc) || c.Symbols == nil {
		return false
	}
	fs := c.namesAt(pc, KindGlue)
	return len(fs) > 0 && (cGlue().MatchString(fs[0].Linkage) || filepath.Base(fs[0].File) == exportFile)
}

// completeGoNames adds the names from Go's own function table to those of symbols: stripped programs have it,
// too. It drops the ABI0 suffix, which marks functions with arguments on the stack.
func (c *Code) completeGoNames(pc uint64, fs []symbolize.Frame) []symbolize.Frame {
	if c.Unwinder == nil {
		return fs
	}
	name, file, line, ok := c.Unwinder.GoFunction(pc)
	if !ok {
		return fs
	}
	if len(fs) == 0 || fs[0].File == "" {
		return []symbolize.Frame{{Function: name, Linkage: name, File: file, Line: line}}
	}
	for i := range fs {
		fs[i].Function = strings.TrimSuffix(fs[i].Function, ".abi0")
	}
	return fs
}
