package dwarfx

// Func is a function that has code of its own.
type Func struct {
	u   *Unit
	off uint64 // of its entry
	// Low is the entry of the function. High is the end of the requested part.
	Low, High uint64
}

// Names are the names of a function in debug information. Each may be empty.
type Names struct {
	Name    string // as in the source, without its scope
	Linkage string // the symbol, if the compiler wrote it
	// Artificial means that the compiler made the function.
	Artificial bool
}

// Inline is one call that was inlined.
type Inline struct {
	Names
	// CallFile, CallLine and CallColumn are the position of the call in the enclosing function.
	CallFile             string
	CallLine, CallColumn int
}

// Func returns the function that covers pc. Of functions that the linker folded into one it returns
// the first of the unit.
func (u *Unit) Func(pc uint64) (Func, bool) {
	u.scan()
	s, ok := u.funcs.Find(pc)
	if !ok {
		return Func{}, false
	}
	f := Func{u: u, off: s.Value, Low: s.Low, High: s.High}
	if e, ok := u.entry(s.Value); ok {
		if v := e.vals[keepLow]; v.isAddr() {
			f.Low = u.addr(v)
		} else if r := e.ranges(); len(r) > 0 {
			f.Low = r[0].low // the list starts with the part with the entry point
		}
	}
	return f, true
}

// Funcs yields the functions of the unit by address; one with several parts is yielded once for
// each, with the bounds of the part.
func (u *Unit) Funcs(yield func(Func) bool) {
	u.scan()
	for _, s := range u.funcs.All() {
		if !yield(Func{u: u, off: s.Value, Low: s.Low, High: s.High}) {
			return
		}
	}
}

// scan finds the functions of the unit at any nesting depth. It reads other entries only as far as
// needed to skip them.
func (u *Unit) scan() {
	if u.haveFuncs {
		return
	}
	u.haveFuncs = true
	u.d.budget = maxRanges
	c := u.cursor(u.dies)
	for !c.Bad && c.Pos < len(c.Data) && !u.d.full {
		off := uint64(c.Pos)
		a := u.shape(&c)
		switch {
		case a == nil: // the end of a list of children
		case a.tag != tagSubprogram:
			a.skip(&c, u.format)
		default:
			var e entry
			u.values(&c, a, &e)
			for _, r := range e.ranges() {
				addCode(u.d, &u.funcs, r.low, r.high, off)
			}
		}
	}
	u.funcs.Seal()
}

// Names returns the names of the function.
func (f Func) Names() Names {
	e, _ := f.u.entry(f.off)
	return e.names()
}

// Entry returns the offset of the function's entry in .debug_info.
func (f Func) Entry() uint64 { return f.off }

// Unit returns the function's unit.
func (f Func) Unit() *Unit { return f.u }

// Decl returns the position of the function's declaration; line 0 if that is unknown.
func (f Func) Decl() (file string, line int) {
	e, ok := f.u.entry(f.off)
	for range maxOrigins {
		if !ok {
			break
		}
		if v := e.vals[keepDeclLine]; v.form != 0 && v.u != 0 {
			return e.u.file(e.vals[keepDeclFile].u), clampInt(v.u)
		}
		e, ok = e.origin()
	}
	return "", 0
}

// names follows an entry to its abstract origin and its declaration, until both
// names are known.
func (e entry) names() Names {
	var n Names
	ok := e.u != nil
	for range maxOrigins {
		if !ok {
			break
		}
		if n.Name == "" {
			n.Name = e.u.str(e.vals[keepName])
		}
		if n.Linkage == "" {
			n.Linkage = e.u.str(e.vals[keepLinkage])
		}
		if v := e.vals[keepArtificial]; v.form == formFlagPresent || v.u != 0 {
			n.Artificial = true
		}
		e, ok = e.origin()
	}
	return n
}

// origin returns the entry to which e refers for missing attributes.
func (e *entry) origin() (entry, bool) {
	v := e.vals[keepOrigin]
	if v.form == 0 {
		v = e.vals[keepSpec]
	}
	u := e.u
	switch {
	case v.isRef() && v.form != formRefAddr:
		return u.entry(u.off + v.u)
	case v.isRef():
		u = u.d.unitAt(v.u)
	case v.isAltRef() && u.d.alt != nil:
		u = u.d.alt.unitAt(v.u)
	default:
		return entry{}, false
	}
	if u == nil {
		return entry{}, false
	}
	return u.entry(v.u)
}

// clampInt converts a number in a file to an int; lines and columns beyond 2³¹ are nonsense and become 0.
func clampInt(v uint64) int {
	if v > 1<<31-1 {
		return 0
	}
	return int(v)
}
