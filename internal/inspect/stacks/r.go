package stacks

import (
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/rcode"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// RSession is a session of R in the target.
type RSession struct {
	Module *callbacks.Module
	Err    error // of finding it, or of reading its functions
	// Placed and Unplaced count the calls that run R functions: those with a native frame, and those without.
	Placed, Unplaced int

	runtime *rcode.Runtime // nil with an error of finding it
}

// RSessions returns the sessions of R of the target.
func (c *Code) RSessions() []*RSession { return c.python().sessions }

// rProgram is the name of R's executable. Its functions are in it, or in libR.so.
const rProgram = "R"

// openR returns the R session of a module, nil if it has none.
func openR(c *Code, m *callbacks.Module) *RSession {
	if base := path.Base(m.Path); !m.Main && !strings.HasPrefix(base, "libR.so") {
		return nil
	}
	r := &RSession{Module: m}
	r.runtime, r.Err = rcode.Open(rcode.Config{
		Memory: c.Target, JumpBuffer: arch.Of(c.Target.Arch()).JumpBuffer,
		Lookup: func(name string) (uint64, bool) { return c.Symbols.LookupExported(name, m.Path) },
	})
	if r.runtime == nil && r.Err == nil {
		return nil
	}
	return r
}

// runsOn reports whether a stack is that of the thread in which R runs its functions.
func (r *RSession) runsOn(st *Stack) bool {
	return r.runtime != nil && len(st.Frames) > 0 && r.runtime.RunsOn(st.Frames[0].Registers.SP())
}

// placeR finds the native frames of a stack that run R functions.
func (p *python) placeR(st *Stack) error {
	var failed error
	for _, r := range p.sessions {
		if !r.runsOn(st) {
			continue
		}
		calls, err := r.runtime.Calls()
		if err != nil {
			r.Err, failed = err, err
		}
		for _, call := range calls {
			frames := rPicture(call.Frames)
			i := slices.IndexFunc(st.Frames, mark{call.Mark, r.Module}.isIn)
			if i < 0 {
				r.Unplaced++
				if st.Err != nil {
					st.Python = append(st.Python, frames...)
				}
				continue
			}
			r.Placed++
			p.places[st.Frames[i].CFA] = pythonPlace{frames, true}
		}
	}
	return failed
}

// rMarks returns the marks of the calls on a stack.
func (p *python) rMarks(st *Stack) []mark {
	var out []mark
	for _, r := range p.sessions {
		if !r.runsOn(st) {
			continue
		}
		calls, _ := r.runtime.Calls() // placeR reports the error
		for _, c := range calls {
			if c.Mark != 0 {
				out = append(out, mark{c.Mark, r.Module})
			}
		}
	}
	return out
}

// readR reads R's functions, once.
func (p *python) readR() {
	if p.rRead {
		return
	}
	p.rRead = true
	for _, r := range p.sessions {
		if r.runtime != nil {
			_, _ = r.runtime.Calls() // they change meanwhile
		}
	}
}

// inR reports whether a module is an interpreter of R, or its executable.
func (p *python) inR(m *callbacks.Module) bool {
	return m != nil && len(p.sessions) > 0 && (m.Main && path.Base(m.Path) == rProgram ||
		path.Base(m.Path) == "methods.so" ||
		slices.ContainsFunc(p.sessions, func(r *RSession) bool {
			return r.Module.Low == m.Low && (!m.Main || path.Base(m.Path) == rProgram)
		}))
}

// rPicture returns frames of R as a picture has them.
func rPicture(frames []rcode.Frame) []picture.Frame {
	out := make([]picture.Frame, len(frames))
	for i, f := range frames {
		out[i] = picture.Frame{
			Kind: picture.FrameUser, Language: picture.LanguageR, Function: f.Function, File: f.File, Line: f.Line,
		}
	}
	return out
}
