package dwarfx

// Inlined returns the calls that were inlined in f at pc, the outermost first. It reads the entries
// below f in order and skips inlined calls that do not cover pc and functions inside f. Lexical
// blocks are always entered, because compilers often write wrong ranges for them.
func (f Func) Inlined(pc uint64) []Inline {
	u := f.u
	u.d.budget = maxRanges
	c := u.cursor(f.off)
	if a := u.shape(&c); a == nil || !a.children {
		return nil
	} else {
		a.skip(&c, u.format)
	}
	var list []Inline
	// depth counts open entries below f; floor is the depth of the innermost inlined call that covers pc:
	// entries outside it are not needed.
	for depth, floor := 1, 1; depth >= floor && !c.Bad && c.Pos < len(c.Data) && len(list) < maxInlined; {
		a := u.shape(&c)
		if a == nil {
			depth--
			continue
		}
		if a.tag != tagInlinedSubroutine && a.tag != tagSubprogram {
			a.skip(&c, u.format)
			if a.children {
				depth++
			}
			continue
		}
		var e entry
		u.values(&c, a, &e)
		if a.tag == tagInlinedSubroutine && e.covers(pc) {
			list = append(list, e.inline())
			if !a.children {
				break
			}
			depth++
			floor = depth
		} else if a.children {
			u.skipChildren(&c, &e)
		}
	}
	return list
}

// inline converts an entry to an Inline.
func (e *entry) inline() Inline {
	return Inline{
		Names:      e.names(),
		CallFile:   e.u.file(e.vals[keepCallFile].u),
		CallLine:   clampInt(e.vals[keepCallLine].u),
		CallColumn: clampInt(e.vals[keepCallColumn].u),
	}
}

// skipChildren skips the children of e.
func (u *Unit) skipChildren(c *cursor, e *entry) {
	// gcc writes the offset of the next sibling, clang does not.
	if v := e.vals[keepSibling]; v.isRef() {
		to := u.off + v.u
		if v.form == formRefAddr {
			to = v.u
		}
		if to > uint64(c.Pos) && to <= u.end {
			c.Pos = int(to)
			return
		}
	}
	for depth := 1; depth > 0 && !c.Bad && c.Pos < len(c.Data); {
		a := u.shape(c)
		if a == nil {
			depth--
			continue
		}
		a.skip(c, u.format)
		if a.children {
			depth++
		}
	}
}
