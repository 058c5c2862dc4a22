package crash

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

type (
	frame    = unwind.Frame
	callSite = flow.CallSite
)

// throwers are the functions that throw. The value is true for those that throw a caught exception again.
var throwers = map[string]bool{
	"__cxa_throw": false, "_Unwind_RaiseException": false, "__cxa_rethrow": true,
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE": true,
	"_ZSt17rethrow_exceptionSt13exception_ptr":                    true,
}

// unwindResume is the function that compilers call after the destructors of a function that an exception leaves.
const unwindResume = "_Unwind_Resume"

// addThrown adds the place of the throw: by the stack if the thrower is still on it, by the remains of its frame,
// or by the code of the function that the exception must not leave.
func (x *Exceptions) addThrown(n *teams.Thread, st *stacks.Stack, e cxxabi.Exception, left int, out *picture.Thrown) {
	if i, by := x.findThrower(st, left); i >= 0 {
		out.Frame, out.Source, out.Rethrown = x.programFrame(st.Frames[i], st.Kinds[i]), by+" is on the stack",
			throwers[by]
	}
	if i := slices.IndexFunc(st.Frames, func(f frame) bool { return x.code.CalledIn(f) == unwindResume }); i >= 0 {
		out.Unwound = x.programFrame(st.Frames[i], st.Kinds[i])
	}
	if out.Frame != nil {
		return
	}
	if f, ok := x.findRemains(n, st, e, left); ok {
		out.Frame, out.Source = f, "what is left on the stack of the function that called __cxa_throw"
		return
	}
	if left < 0 {
		return
	}
	from := st.Frames[left]
	if i := slices.IndexFunc(st.Frames, func(f frame) bool { return x.code.CalledIn(f) == unwindResume }); i >= 0 {
		from = st.Frames[i]
	}
	switch found := x.throwPlaces(from.LookupPC(), e); len(found) {
	case 0:
	case 1:
		out.Frame, out.Source = &found[0],
			"no other call of the program throws that type, of those that the code there "+
				"leads to"
	default:
		out.Candidates = found
	}
}

// findThrower returns the index of the program's frame that threw, or that called a throwing function of a
// language's library. It also returns the throwing function. The index is -1 if the frame is gone. It does not
// search beyond frame left.
func (x *Exceptions) findThrower(st *stacks.Stack, left int) (i int, by string) {
	i = -1
	for j, f := range st.Frames {
		name := x.code.CalledIn(f)
		if _, throws := throwers[name]; throws && (i < 0 || x.inLanguageLibrary(st.Frames[i])) {
			i, by = j, name
		}
		if j == left {
			break
		}
	}
	for i >= 0 && i < len(st.Frames)-1 && x.inLanguageLibrary(st.Frames[i]) {
		i++
	}
	return x.skipHeaders(st, i, left), by
}

// skipHeaders returns the first frame from index i on, up to left, with code of the program outside the C++
// library's headers; i without such a frame.
func (x *Exceptions) skipHeaders(st *stacks.Stack, i, left int) int {
	for j := max(i, 0); j < len(st.Frames) && st.Kinds[j] == stacks.KindUser; j++ {
		fs := x.code.Frames(st.Frames[j], stacks.KindUser)
		switch {
		case slices.ContainsFunc(fs, stacks.HasProgramLine):
			return j
		case !slices.ContainsFunc(fs, stacks.InLibraryHeader) || j == left:
			return i
		}
	}
	return i
}

// inLanguageLibrary reports whether a frame is of a library that comes with a compiler, which may be linked into
// the program.
func (x *Exceptions) inLanguageLibrary(f frame) bool {
	if f.Module != nil && libc.IsLanguage(f.Module.Path) {
		return true
	}
	fs := x.code.NativeNames(f.LookupPC(), stacks.KindUser)
	return len(fs) > 0 && fs[0].File == "" && strings.HasPrefix(fs[len(fs)-1].Linkage, "_ZSt")
}

// programFrame returns the frame of the program's code that is shown for f.
func (x *Exceptions) programFrame(f frame, kind stacks.Kind) *picture.Frame {
	return stacks.ProgramCode(x.code.FramesWithConstruct(f, kind))
}

// findRemains finds the throwing call in the memory of frames that are gone.
func (x *Exceptions) findRemains(
	n *teams.Thread, st *stacks.Stack, e cxxabi.Exception, left int,
) (*picture.Frame, bool) {
	regs := n.Registers()
	if regs == nil || e.Foreign {
		return nil, false
	}
	end := regs.SP() + maxThrowStack
	if left >= 0 {
		end = min(end, st.Frames[left].Registers.SP())
	}
	low := regs.SP() - min(regs.SP(), deadStack)
	if end <= low {
		return nil, false
	}
	words := x.readPadded(low, end-low)
	var found []uint64
	for i := 0; i+8 <= len(words); i += 8 {
		pc := callbacks.Word(words[i : i+8])
		if x.inProgram(pc) && !slices.Contains(found, pc) && x.code.CallTarget(pc) == "__cxa_throw" &&
			x.throwsType(pc, e) {
			found = append(found, pc)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	f := frame{PC: found[0], Module: x.code.ModuleOf(found[0])}
	return x.programFrame(f, stacks.KindUser), true
}

// throwsType reports whether the call that returns to pc throws an exception of e's type, as far as its code
// shows.
func (x *Exceptions) throwsType(pc uint64, e cxxabi.Exception) bool {
	const typeArgument = 1
	t, known := x.code.Argument(pc, typeArgument, callbacks.Registers{})
	return !known || t == e.Type
}

// inProgram reports whether the code at pc is neither a runtime's nor a library's that comes with the system or
// a compiler.
func (x *Exceptions) inProgram(pc uint64) bool {
	m := x.code.ModuleOf(pc)
	return m != nil && !libc.IsSystem(m.Path) && !libc.IsLanguage(m.Path) && !x.code.InRuntime(pc)
}

// throwsException reports whether a call throws an exception of e's type: by itself, or by a function of the C++
// library that is named after it.
func (x *Exceptions) throwsException(s callSite, e cxxabi.Exception) bool {
	if s.Name == "__cxa_throw" {
		return x.throwsType(s.Return, e)
	}
	mangled, err := cxxabi.TypeName(x.target, e.Type)
	if err != nil || !strings.HasPrefix(s.Name, "_ZSt") {
		return false
	}
	name := strings.TrimLeft(strings.TrimPrefix(mangled, "St"), "0123456789")
	return strings.HasPrefix(mangled, "St") && strings.Contains(s.Name, "__throw_"+name)
}
