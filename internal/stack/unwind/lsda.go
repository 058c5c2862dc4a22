package unwind

// Handling is the effect of a function's code on an exception that reaches it.
type Handling uint8

// Effects on an exception.
const (
	HandlingUnknown Handling = iota // the tables cannot be read
	PassesOn                        // it continues to the caller
	Cleans                          // destructors of the function are called, then it continues
	MayCatch                        // there is code that catches exceptions, maybe of another type
	Ends                            // the function may not be left by an exception: it ends the program
)

const (
	// maxCallSites bounds the call-site table of a function, in bytes.
	maxCallSites = 1 << 20
	// lsdaHeader is an upper bound of the bytes before that table.
	lsdaHeader = 48
)

// HandlingAt returns what the function around pc, an address within a call, does with an exception
// from that call.
func (u *Unwinder) HandlingAt(pc uint64) Handling {
	h, _ := u.LandingPad(pc)
	return h
}

// LandingPad returns the same, and the address at which the function continues; 0 if it does not.
func (u *Unwinder) LandingPad(pc uint64) (Handling, uint64) {
	m := u.moduleAt(pc)
	if m == nil {
		return HandlingUnknown, 0
	}
	f, _, err := m.findFDE(pc - m.Bias)
	if err != nil {
		return HandlingUnknown, 0
	}
	if f.lsda == 0 {
		return PassesOn, 0
	}
	src := memSource{u.mem, m.Bias}
	if f.lsdaEnc&peIndirect != 0 {
		return HandlingUnknown, 0
	}
	h, pad, err := callSite(src, f, pc-m.Bias)
	switch {
	case err != nil:
		return HandlingUnknown, 0
	case pad == 0:
		return h, 0
	}
	return h, pad + m.Bias
}

// callSite searches for pc in the call-site table of a function (.gcc_except_table). pad is the landing pad of a
// function that cleans or catches.
func callSite(src source, f *fde, pc uint64) (h Handling, pad uint64, err error) {
	b, err := readUpTo(src, f.lsda, lsdaHeader)
	if err != nil {
		return HandlingUnknown, 0, err
	}
	pads := f.low
	if enc := b.u8(); enc != peOmit {
		pads = b.readPointer(enc, bases{})
	}
	if types := b.u8(); types != peOmit {
		b.uleb()
	}
	enc, size := b.u8(), b.uleb()
	if b.err != nil || size > maxCallSites {
		return HandlingUnknown, 0, ErrDamaged
	}
	p, err := src.bytes(b.addr, int(size))
	if err != nil {
		return HandlingUnknown, 0, err
	}
	for t := (buf{b: p, addr: b.addr}); len(t.b) > 0 && t.err == nil; {
		start, length, pad := t.readFormat(enc&peFormat), t.readFormat(enc&peFormat), t.readFormat(enc&peFormat)
		action := t.uleb()
		switch at := pc - f.low; {
		case t.err != nil:
			return HandlingUnknown, 0, t.err
		case at < start || at-start >= length:
			continue
		case pad == 0:
			return PassesOn, 0, nil
		case action == 0:
			return Cleans, pads + pad, nil
		}
		return MayCatch, pads + pad, nil
	}
	return Ends, 0, nil
}

// readUpTo reads up to n bytes, fewer at the end of memory.
func readUpTo(src source, addr uint64, n int) (buf, error) {
	for {
		p, err := src.bytes(addr, n)
		if err == nil || n < 4 {
			return buf{b: p, addr: addr}, err
		}
		n /= 2
	}
}
