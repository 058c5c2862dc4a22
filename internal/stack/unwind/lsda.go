package unwind

// Handling is what the code of a function does with an exception that comes to it.
type Handling uint8

// What may be done with an exception.
const (
	HandlingUnknown Handling = iota // its tables cannot be read
	PassesOn                        // it goes on to the caller
	Cleans                          // destructors of the function are called, then it goes on
	MayCatch                        // there is code that catches exceptions, maybe of another type
	Ends                            // the function may not be left by an exception: it ends the program
)

const (
	// maxCallSites bounds the table of the calls of a function that may throw, in bytes.
	maxCallSites = 1 << 20
	// lsdaHeader is more than what is before that table.
	lsdaHeader = 48
)

// Handling tells what the function around pc, an address within a call, does with an
// exception that comes from that call.
func (u *Unwinder) Handling(pc uint64) Handling {
	m := u.module(pc)
	if m == nil {
		return HandlingUnknown
	}
	f, _, err := m.fde(pc - m.Bias)
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

// callSite looks for pc in the table of calls of a function (.gcc_except_table).
func callSite(src source, f *fde, pc uint64) (Handling, error) {
	b, err := some(src, f.lsda, lsdaHeader)
	if err != nil {
		return HandlingUnknown, err
	}
	b.pointer(b.u8(), bases{}) // where landing pads begin
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
		start, length, pad := t.plain(enc&peFormat), t.plain(enc&peFormat), t.plain(enc&peFormat)
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

// some reads up to n bytes, less where memory ends.
func some(src source, addr uint64, n int) (buf, error) {
	for {
		p, err := src.bytes(addr, n)
		if err == nil || n < 4 {
			return buf{b: p, addr: addr}, err
		}
		n /= 2
	}
}
