package inspect

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// goGlue are Go functions that no user wrote: the runtime, what calls C and is
// called by it, and what a go statement wraps a call in.
var goGlue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(runtime|runtime/.*|internal/runtime/.*)\.|^_cgoexp_|^crosscall2|\._Cfunc_|\.gowrap\d+$`)
})

// cGlue are the C functions of a Go program that no user wrote.
var cGlue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^_cgo_|^x_cgo_|^crosscall1$|^threadentry$`)
})

// exportFile is the file of the C functions by which C calls Go.
const exportFile = "_cgo_export.c"

// isGlue reports whether the code of f is Go's runtime, or was made to go between Go
// and C.
func (c *codeNames) isGlue(f unwind.Frame) bool {
	pc := f.LookupPC()
	if f.Go {
		name, _, _, _ := c.unw.GoFunction(pc)
		return goGlue().MatchString(name)
	}
	if !c.unw.HasGo(pc) || c.sym == nil {
		return false
	}
	fs := c.lookup(pc, kindGlue)
	return len(fs) > 0 && (cGlue().MatchString(fs[0].Linkage) || filepath.Base(fs[0].File) == exportFile)
}

// goNames completes what the symbols tell of the code at pc, if it is that of a Go
// function: its own table has a name and a line in stripped programs too. ABI0 marks
// functions that take their arguments on the stack, which is nobody's concern.
func (c *codeNames) goNames(pc uint64, fs []symbolize.Frame) []symbolize.Frame {
	if c.unw == nil {
		return fs
	}
	name, file, line, ok := c.unw.GoFunction(pc)
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

// goroutine is the number of the innermost goroutine on whose stack st has frames; 0
// if there is none.
func (st *stack) goroutine() int64 {
	for _, f := range st.frames {
		if f.Goroutine != 0 {
			return int64(f.Goroutine)
		}
	}
	return 0
}
