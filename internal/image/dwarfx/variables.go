package dwarfx

// Variable is a variable with an expression as its location.
type Variable struct {
	Entry     uint64 // the offset of its entry in .debug_info
	Operation uint8  // the first one of the expression
	Common    bool   // it is a member of a common block of Fortran
}

// Units yields the units of the file that may contain code, in order.
func (d *Data) Units(yield func(*Unit) bool) {
	d.prepare()
	for _, u := range d.units {
		if !yield(u) {
			return
		}
	}
}

// Variables yields the variables of the unit that have an expression as their location, in order. It finds those in
// functions, blocks, modules and namespaces, but none in types and inlined functions. Other entries are skipped without
// reading them: a unit has some hundred entries for each variable. It returns false if the unit is damaged.
func (u *Unit) Variables(yield func(Variable) bool) bool {
	c := u.cursor(u.dies)
	common := false
	for work := 0; c.Pos < len(c.Data) && work < maxVariableWork && !u.d.full; {
		off := uint64(c.Pos)
		a := u.shape(&c)
		if c.Bad {
			return false
		}
		if a == nil { // the end of a list of children
			common = false
			continue
		}
		if a.fixed < 0 {
			work += len(a.attrs)
		}
		switch a.tag {
		case tagVariable:
			var e entry
			u.values(&c, a, &e)
			if v := e.vals[keepLocation]; v.isBlock() && !c.Bad && !yield(Variable{off, uint8(v.u), common}) {
				return true
			}
		case tagCommonBlock:
			a.skip(&c, u.format)
			common = a.children
		case tagCompileUnit, tagSkeletonUnit, tagSubprogram, tagLexicalBlock, tagNamespace, tagModule:
			a.skip(&c, u.format)
		default:
			if a.children {
				var e entry
				u.values(&c, a, &e)
				u.skipChildren(&c, &e)
			} else {
				a.skip(&c, u.format)
			}
		}
		if c.Bad {
			return false
		}
	}
	return true
}
