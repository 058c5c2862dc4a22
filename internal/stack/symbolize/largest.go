package symbolize

import "debug/dwarf"

// LocalVariable is a local variable of a function, with the place of its declaration.
type LocalVariable struct {
	Name string
	Size uint64 // bytes
	File string // empty if unknown
	Line int
}

// LargestLocal finds the largest variable in the frame of the function at pc, or of a function
// inlined in it, in all of its blocks. ok is false without the debug information.
func (s *Symbolizer) LargestLocal(pc uint64) (largest LocalVariable, ok bool) {
	s.walkLocals(Activation{PC: pc}, (*module).variables, func(l *locals) {
		l.whole = true
		l.visit = func(e *dwarf.Entry, _ scope) {
			loc, _ := e.Val(dwarf.AttrLocation).([]byte)
			if e.Tag != dwarf.TagVariable || len(loc) > 0 && (loc[0] == opAddr || loc[0] == opAddrx) {
				return
			}
			name, typ := l.vs.nameAndType(e)
			if size, sized := l.types.sizeInBytes(typ); sized && name != "" && size > largest.Size {
				largest = LocalVariable{Name: name, Size: size}
				largest.File, largest.Line = l.declarationOf(e)
				ok = true
			}
		}
	})
	return largest, ok
}

// declarationOf returns the place of a variable's declaration. An instance in an inlined function refers
// to the entry that has the place.
func (l *locals) declarationOf(e *dwarf.Entry) (file string, line int) {
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
		if e, _ = l.types.readEntry(off); e == nil {
			break
		}
	}
	return "", 0
}
