package lift

// memory lifts loads and stores.
func (l *a64lift) memory() bool {
	switch {
	case l.matches(0x3b000000, 0x18000000):
		l.literal()
	case l.matches(0x3a000000, 0x28000000):
		l.pair()
	case l.matches(0x3b000000, 0x39000000): // an unsigned offset
		size := l.accessSize()
		l.emitAddress(number(l.field(10, 12) * uint64(size)))
		l.access(size)
	case l.matches(0x3b200000, 0x38000000): // a signed offset, or an update before or after
		l.indexed()
	case l.matches(0x3b200c00, 0x38200800): // a register as the offset
		size := l.accessSize()
		shift := uint64(0)
		for ; l.field(12, 1) == 1 && size>>(shift+1) != 0; shift++ {
		}
		l.extended(temp1, l.rm(), l.field(13, 3), shift)
		l.emitAddress(reg(temp1))
		l.access(size)
	case l.matches(0x3b200c00, 0x38200000):
		l.atomic()
	case l.matches(0x3f000000, 0x08000000):
		l.exclusive()
	case l.matches(0x3f200c00, 0x19000000): // LDAPUR, STLUR
		l.emitAddress(number(l.sfield(12, 9)))
		l.access(l.accessSize())
	case l.matches(0x3b200400, 0x38200400): // signed pointers
		if l.forget(l.rd()); l.field(11, 1) == 1 {
			l.update(uint64(int64(l.field(22, 1)<<63|l.field(12, 9)<<54) >> 54 << 3))
		}
	case l.matches(0xbe000000, 0x0c000000):
		l.structures()
	default:
		return l.matches(0xff200000, 0xd9200000) && l.tags()
	}
	return true
}

// isVector reports whether the access uses a vector register.
func (w a64word) isVector() bool { return w.field(26, 1) == 1 }

// accessSize returns the size of a single access in bytes.
func (w a64word) accessSize() uint8 {
	if w.isVector() && w.field(23, 1) == 1 {
		return 16
	}
	return 1 << w.field(30, 2)
}

// emitAddress emits the address, base plus offset, into temp0.
func (l *a64lift) emitAddress(offset Operand) { l.compute8(OpAdd, Temp0, reg(l.rn()), offset) }

// access lifts a single load or store at temp0.
func (l *a64lift) access(size uint8) {
	opc := l.field(22, 2)
	switch {
	case l.isVector():
		l.moveVector(l.rd(), size, opc&1 == 1)
	case opc == 0:
		l.store(l.rd(), size)
	case size == 8 && opc == 2: // prefetch
	case opc == 1:
		l.load(l.rd(), size, false, 8)
	default: // 2 extends to 64 bits, 3 to 32
		l.load(l.rd(), size, true, 8>>(opc-2))
	}
}

// load emits rt = size bytes at temp0, extended to width bytes.
func (l *a64lift) load(rt Register, size uint8, signed bool, width uint8) {
	l.emit(Uop{Code: UopLoad, Dst: temp1, A: reg(Temp0), Size: size})
	if rt == a64SP {
		return
	}
	if signed {
		l.emit(Uop{Code: UopSet, Dst: temp1, A: reg(temp1), Size: size, Signed: true})
	}
	l.emit(Uop{Code: UopSet, Dst: rt, A: reg(temp1), Size: width})
}

// store emits the store of a register at temp0. A callee-saved register is stored as UopPush: its cell does not
// escape.
func (l *a64lift) store(rt Register, size uint8) {
	code := UopStore
	if l.rn() == a64SP && rt >= 19 && rt <= a64Link {
		code = UopPush
	}
	l.emit(Uop{Code: code, A: reg(Temp0), B: read(rt), Size: size})
}

// literal lifts a load relative to the PC.
func (l *a64lift) literal() {
	l.emit(Uop{Code: UopSet, Dst: Temp0, A: absolute(l.pc + l.sfield(5, 19)<<2), Size: 8})
	opc := l.field(30, 2)
	switch {
	case opc == 3:
	case l.isVector():
		l.moveVector(l.rd(), 4<<opc, true)
	case opc == 2:
		l.load(l.rd(), 4, true, 8)
	default:
		l.load(l.rd(), 4<<opc, false, 8)
	}
}

// indexed lifts accesses with a signed offset: unscaled, or with an update of the base before or after.
func (l *a64lift) indexed() {
	offset := number(l.sfield(12, 9))
	mode := l.field(10, 2)
	if mode == 1 { // after
		l.emitAddress(number(0))
	} else {
		l.emitAddress(offset)
	}
	l.access(l.accessSize())
	if mode == 1 || mode == 3 {
		l.update(offset.Val)
	}
}

// update emits base = base + offset.
func (l *a64lift) update(offset uint64) {
	op := OpAdd
	if int64(offset) < 0 {
		op, offset = OpSub, -offset
	}
	l.compute8(op, l.rn(), reg(l.rn()), number(offset))
}

// pair lifts loads and stores of two registers.
func (l *a64lift) pair() {
	opc, mode := l.field(30, 2), l.field(23, 2)
	size, signed := uint8(4)<<(opc>>1), opc == 1
	if l.isVector() {
		size, signed = 4<<opc, false
	}
	offset := l.sfield(15, 7) * uint64(size)
	if opc == 1 && l.field(22, 1) == 0 && !l.isVector() { // STGP, which also stores a tag
		size, offset = 8, l.sfield(15, 7)*16
	}
	first := offset
	if mode == 1 { // updates the base afterwards
		first = 0
	}
	for i, rt := range [...]Register{l.rd(), l.ra()} {
		l.emitAddress(number(first + uint64(i)*uint64(size)))
		switch {
		case l.isVector():
			l.moveVector(rt, size, l.field(22, 1) == 1)
		case l.field(22, 1) == 0:
			l.store(rt, size)
		case i == 0 && rt == l.rn(): // the base is overwritten: load the second one first
			l.emitAddress(number(first + uint64(size)))
			l.load(l.ra(), size, signed, 8)
			l.emitAddress(number(first))
			l.load(rt, size, signed, 8)
			return
		default:
			l.load(rt, size, signed, 8)
		}
	}
	if mode == 1 || mode == 3 {
		l.update(offset)
	}
}

// structures lifts loads and stores of several vectors, or of one element of each.
func (l *a64lift) structures() {
	var bytes uint64
	if l.field(24, 1) == 0 { // whole vectors
		vectors := map[uint64]uint64{0: 4, 2: 4, 4: 3, 6: 3, 7: 1, 8: 2, 10: 2}[l.field(12, 4)]
		bytes = vectors * 8 << l.field(30, 1)
	} else {
		element := uint64(1) << l.field(14, 2)
		switch size := l.field(10, 2); {
		case element == 4 && size == 1:
			element = 8
		case element == 8: // the same element in all parts of a vector
			element = 1 << size
		}
		bytes = element * ((l.field(13, 1)<<1 | l.field(21, 1)) + 1)
	}
	for done := uint64(0); done < bytes; {
		size := uint64(16)
		for size > bytes-done {
			size /= 2
		}
		if l.emitAddress(number(done)); l.field(22, 1) == 0 {
			l.unknownStore(uint8(size))
		} else {
			l.emit(Uop{Code: UopLoad, Dst: temp1, A: reg(Temp0), Size: uint8(size)})
		}
		done += size
	}
	for i := Register(0); i < 4 && l.field(22, 1) == 1; i++ { // at most
		l.forgetVector((l.rd() + i) % NumVectors)
	}
	switch {
	case l.field(23, 1) == 0:
	case l.rm() == a64SP:
		l.update(bytes)
	default:
		l.compute8(OpAdd, l.rn(), reg(l.rn()), reg(l.rm()))
	}
}

// tags lifts loads and stores of memory tags. Some of the stores clear the memory, too.
func (l *a64lift) tags() bool {
	switch mode, opc := l.field(10, 2), l.field(22, 2); {
	case mode == 0 && opc&1 == 1: // LDG, LDGM
		l.forget(l.rd())
	case mode == 0:
		l.partial = opc == 0
	default:
		if l.partial = opc&1 == 1; mode != 2 {
			l.update(l.sfield(12, 9) << 4)
		}
	}
	return true
}

// exclusive lifts ordered and exclusive loads and stores, and compare-and-swap.
func (l *a64lift) exclusive() {
	size := uint8(1) << l.field(30, 2)
	l.emitAddress(number(0))
	switch {
	case l.field(23, 1) == 1 && l.field(21, 1) == 0 && l.field(22, 1) == 1: // LDAR
		l.load(l.rd(), size, false, 8)
	case l.field(23, 1) == 1 && l.field(21, 1) == 0: // STLR
		l.store(l.rd(), size)
	case l.field(23, 1) == 1:
		l.compareExchange(size)
	case l.field(21, 1) == 1 && l.field(31, 1) == 0:
		l.compareExchangePair()
	case l.field(22, 1) == 1: // LDXR, LDXP
		l.load(l.rd(), size, false, 8)
		if l.field(21, 1) == 1 {
			l.forget(l.ra())
		}
	default: // STXR, STXP: it is unknown whether they store
		l.locked = true
		l.unknownStore(size << l.field(21, 1))
		if store := &l.uops[len(l.uops)-1]; l.field(21, 1) == 0 && l.rd() != a64SP {
			store.MayFail, store.Dst = true, l.rd()
		}
		l.forget(l.rm())
	}
}

// compareExchange lifts CAS.
func (l *a64lift) compareExchange(size uint8) {
	l.locked = true
	l.emit(Uop{Code: UopSet, Dst: temp1, A: read(l.rm()), Size: 8})
	l.emit(Uop{Code: UopExchange, Dst: temp1, A: reg(Temp0), B: read(l.rd()), Size: size})
	if l.rm() != a64SP {
		l.emit(Uop{Code: UopSet, Dst: l.rm(), A: reg(temp1), Size: 8})
	}
}

// compareExchangePair lifts CASP; its results are unknown.
func (l *a64lift) compareExchangePair() {
	l.locked = true
	l.unknownStore(8 << l.field(30, 1))
	l.forget(l.rm())
	l.forget(l.rm() + 1)
}

// a64Atomics are the operations of the instructions that atomically combine a register with memory.
var a64Atomics = map[uint64]Operator{0: OpAdd, 1: OpAnd, 2: OpXor, 3: OpOr}

// The other operations of that group: a plain exchange, and an ordered load.
const (
	a64Swap  = 0b1000
	a64LDAPR = 0b1100
)

// atomic lifts the instructions that atomically change memory, and LDAPR.
func (l *a64lift) atomic() {
	size := uint8(1) << l.field(30, 2)
	l.emitAddress(number(0))
	kind := l.field(12, 4)
	op, known := a64Atomics[kind]
	if kind == a64LDAPR {
		l.load(l.rd(), size, false, 8)
		return
	}
	l.locked = true
	l.emit(Uop{Code: UopLoad, Dst: temp1, A: reg(Temp0), Size: size})
	switch {
	case kind == a64Swap:
		l.emit(Uop{Code: UopSet, Dst: temp2, A: read(l.rm()), Size: 8})
	case known && op == OpAnd: // LDCLR clears the register's bits
		l.compute8(OpXor, temp2, read(l.rm()), number(^uint64(0)))
		l.compute8(op, temp2, reg(temp1), reg(temp2))
	case known:
		l.compute8(op, temp2, reg(temp1), read(l.rm()))
	default: // minimum and maximum
		l.forget(temp2)
	}
	l.emit(Uop{Code: UopStore, A: reg(Temp0), B: reg(temp2), Size: size})
	if l.rd() != a64SP {
		l.emit(Uop{Code: UopSet, Dst: l.rd(), A: reg(temp1), Size: 8})
	}
}

// unknownStore emits a store of an unknown value at temp0.
func (l *a64lift) unknownStore(size uint8) {
	l.emit(Uop{Code: UopForget, Dst: temp1})
	l.emit(Uop{Code: UopStore, A: reg(Temp0), B: reg(temp1), Size: size})
}
