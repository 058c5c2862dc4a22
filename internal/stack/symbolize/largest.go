package symbolize

import "debug/dwarf"

// LocalVariable is a local variable of a function, and where it is declared.
type LocalVariable struct {
	Name string
	Size uint64 // bytes
	File string // empty if it is not known
	Line int
}

// LargestLocal finds the largest variable that the function which has the code at pc keeps in its frame, or one that
// is inlined in it, in all of its blocks. It is not ok if debug information does not tell.
func (s *Symbolizer) LargestLocal(pc uint64) (largest LocalVariable, ok bool) {
	s.walkLocals(Activation{PC: pc}, (*module).variables, func(l *locals) {
		l.whole = true
		l.visit = func(e *dwarf.Entry, _ scope) {
			loc, _ := e.Val(dwarf.AttrLocation).([]byte)
			if e.Tag != dwarf.TagVariable || len(loc) > 0 && (loc[0] == opAddr || loc[0] == opAddrx) {
				return
			}
			name, typ := l.vs.named(e)
			if size, sized := l.types.size(typ); sized && name != "" && size > largest.Size {
				largest = LocalVariable{Name: name, Size: size}
				largest.File, largest.Line = l.declared(e)
				ok = true
			}
		}
	})
	return largest, ok
}

// declared is where a variable is declared; an instance of one in an inlined function refers to the one that says so.
func (l *locals) declared(e *dwarf.Entry) (file string, line int) {
	for range maxTypeDepth {
		if n, ok := e.Val(dwarf.AttrDeclLine).(int64); ok {
			number, _ := e.Val(dwarf.AttrDeclFile).(int64)
			lines, err := l.vs.data.LineReader(l.unit)
			if err != nil || lines == nil || number < 0 || int(number) >= len(lines.Files()) ||
				lines.Files()[number] == nil {
				return "", 0
			}
			return lines.Files()[number].Name, int(n)
		}
		off, ok := originOf(e)
		if !ok {
			break
		}
		if e, _ = l.types.entry(off); e == nil {
			break
		}
	}
	return "", 0
}
