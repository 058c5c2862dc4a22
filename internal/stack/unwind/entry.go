package unwind

import (
	"fmt"
)

// maxEntry bounds one CIE or FDE in bytes. The largest functions of the
// largest libraries have a few 10 KB.
const maxEntry = 1 << 18

// cie is a common information entry: the data shared by the FDEs of many functions.
type cie struct {
	version   byte
	augmented bool // FDEs have augmentation data, with a length
	signal    bool // describes signal trampolines
	ptrEnc    byte // of addresses in FDEs
	lsdaEnc   byte // of the address of exception tables in FDEs
	addrSize  int
	codeAlign uint64
	dataAlign int64
	ra        uint64 // column of the return address
	insts     buf
}

// fde is a frame description entry: the rules of one function, or one part of it. Addresses are
// those of the file.
type fde struct {
	*cie
	low, high uint64
	lsda      uint64 // exception table; 0 without one
	insts     buf
}

// header is the start of an entry.
type header struct {
	isCIE bool
	end   bool   // a zero length, which ends the table
	cie   uint64 // of an FDE: address of its CIE
	body  buf    // the rest of the entry
	next  uint64 // address of the next entry
}

// readHeader reads the start of the entry at addr and takes its bytes.
func (t *table) readHeader(addr uint64) (header, error) {
	h := header{}
	b, err := t.read(addr, 4)
	if err != nil {
		return h, err
	}
	size, idSize, prefix := b.readWord(4), 4, uint64(4)
	if size == 0xffffffff { // 64-bit DWARF
		if b, err = t.read(addr+4, 8); err != nil {
			return h, err
		}
		size, idSize, prefix = b.readWord(8), 8, 12
	}
	if size == 0 {
		return header{end: true}, nil
	}
	if size > maxEntry || size < uint64(idSize) {
		return h, fmt.Errorf("%w: entry of %d bytes at %#x", ErrDamaged, size, addr)
	}
	h.next = addr + prefix + size
	if h.body, err = t.read(addr+prefix, int(size)); err != nil {
		return h, err
	}
	at := h.body.addr
	id := h.body.readWord(idSize)
	switch {
	case !t.debugFrame:
		h.isCIE, h.cie = id == 0, at-id
	case idSize == 4:
		h.isCIE, h.cie = id == 0xffffffff, id
	default:
		h.isCIE, h.cie = id == ^uint64(0), id
	}
	return h, h.body.err
}

// cieAt returns the CIE at addr. It caches CIEs, which many FDEs share.
func (t *table) cieAt(addr uint64) (*cie, error) {
	t.mu.Lock()
	c := t.cies[addr]
	t.mu.Unlock()
	if c != nil {
		return c, nil
	}
	h, err := t.readHeader(addr)
	if err != nil {
		return nil, err
	}
	if !h.isCIE || h.end {
		return nil, fmt.Errorf("%w: no CIE at %#x", ErrDamaged, addr)
	}
	c, err = t.parseCIE(h.body)
	if err != nil {
		return nil, fmt.Errorf("CIE at %#x: %w", addr, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.cies) < maxCIEs {
		t.cies[addr] = c
	}
	return c, nil
}

// maxCIEs bounds the cached CIEs of one table; linkers merge equal ones, so a table has a few.
const maxCIEs = 4096

func (t *table) parseCIE(b buf) (*cie, error) {
	c := &cie{addrSize: 8, lsdaEnc: peOmit, version: b.u8()}
	if c.version != 1 && c.version != 3 && c.version != 4 {
		return nil, fmt.Errorf("%w: version %d", ErrUnsupported, c.version)
	}
	augmentation := b.readCString()
	if augmentation == "eh" { // GCC 2: a pointer to exception data
		b.u64()
		augmentation = ""
	}
	if c.version == 4 {
		c.addrSize = int(b.u8())
		if segment := b.u8(); segment != 0 {
			return nil, fmt.Errorf("%w: segment selectors", ErrUnsupported)
		}
	}
	c.codeAlign, c.dataAlign = b.uleb(), b.sleb()
	if c.version == 1 {
		c.ra = uint64(b.u8())
	} else {
		c.ra = b.uleb()
	}
	if err := c.readAugmentation(augmentation, &b); err != nil {
		return nil, err
	}
	c.insts = b
	return c, b.err
}

// readAugmentation reads the augmentation string and its data.
func (c *cie) readAugmentation(s string, b *buf) error {
	if s == "" {
		return nil
	}
	if s[0] != 'z' {
		return fmt.Errorf("%w: augmentation %q", ErrUnsupported, s)
	}
	c.augmented = true
	start := *b
	data := buf{b: b.takeBlock()}
	if b.err != nil {
		return b.err
	}
	start.uleb()
	data.addr = start.addr
	for _, k := range s[1:] {
		switch k {
		case 'R':
			c.ptrEnc = data.u8()
		case 'P':
			data.readPointer(data.u8(), bases{})
		case 'L':
			c.lsdaEnc = data.u8()
		case 'S':
			c.signal = true
		case 'B', 'G': // aarch64: signed with key B; memory tags. No data.
		default: // the rest is unknown, but can be skipped as a whole
			return data.err
		}
	}
	return data.err
}

// fdeAt parses the FDE at addr.
func (t *table) fdeAt(addr uint64) (*fde, error) {
	h, err := t.readHeader(addr)
	if err != nil {
		return nil, err
	}
	if h.isCIE || h.end {
		return nil, fmt.Errorf("%w: no FDE at %#x", ErrDamaged, addr)
	}
	return t.parseFDE(&h)
}

func (t *table) parseFDE(h *header) (*fde, error) {
	c, err := t.cieAt(h.cie)
	if err != nil {
		return nil, err
	}
	f, b := &fde{cie: c}, h.body
	size := uint64(0)
	if t.debugFrame {
		f.low, size = b.readWord(c.addrSize), b.readWord(c.addrSize)
	} else {
		f.low = b.readPointer(c.ptrEnc, t.bases)
		if c.ptrEnc&peIndirect != 0 && b.err == nil {
			if f.low, err = t.readIndirect(f.low); err != nil {
				return nil, err
			}
		}
		size = b.readFormat(c.ptrEnc & peFormat)
	}
	f.high = f.low + size
	if c.augmented {
		start := b
		data := buf{b: b.takeBlock()}
		start.uleb()
		data.addr = start.addr
		f.lsda = data.readPointer(c.lsdaEnc, t.bases) // an unreadable pointer counts as unknown
	}
	f.insts = b
	if b.err == nil && f.high < f.low {
		b.fail("function at %#x has %#x bytes", f.low, size)
	}
	return f, b.err
}
