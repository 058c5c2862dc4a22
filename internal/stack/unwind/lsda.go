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
	m := u.moduleAt(pc)
	if m == nil {
		return HandlingUnknown
	}
	f, _, err := m.findFDE(pc - m.Bias)
	if err != nil {
		return HandlingUnknown
	}
	if f.lsda == 0 {
		return PassesOn
	}
	src := memSource{u.mem, m.Bias}
	if f.lsdaEnc&peIndirect != 0 {
		return HandlingUnknown
	}
	h, err := callSite(src, f, pc-m.Bias)
	if err != nil {
		return HandlingUnknown
	}
	return h
}

// callSite searches for pc in the call-site table of a function (.gcc_except_table).
func callSite(src source, f *fde, pc uint64) (Handling, error) {
	b, err := readUpTo(src, f.lsda, lsdaHeader)
	if err != nil {
		return HandlingUnknown, err
	}
	b.readPointer(b.u8(), bases{}) // start of the landing pads
	if types := b.u8(); types != peOmit {
		b.uleb()
	}
	enc, size := b.u8(), b.uleb()
	if b.err != nil || size > maxCallSites {
		return HandlingUnknown, ErrDamaged
	}
	p, err := src.bytes(b.addr, int(size))
	if err != nil {
		return HandlingUnknown, err
	}
	for t := (buf{b: p, addr: b.addr}); len(t.b) > 0 && t.err == nil; {
		start, length, pad := t.readFormat(enc&peFormat), t.readFormat(enc&peFormat), t.readFormat(enc&peFormat)
		action := t.uleb()
		switch at := pc - f.low; {
		case t.err != nil:
			return HandlingUnknown, t.err
		case at < start || at-start >= length:
			continue
		case pad == 0:
			return PassesOn, nil
		case action == 0:
			return Cleans, nil
		}
		return MayCatch, nil
	}
	return Ends, nil
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
