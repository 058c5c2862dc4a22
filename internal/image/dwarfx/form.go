package dwarfx

// value is one attribute as it is stored: the meaning of the number depends on the form. A zero
// form means that the entry has no such attribute.
type value struct {
	form uint16
	u    uint64
}

// format holds the parameters that determine the size of forms.
type format struct {
	version  uint16 // of DWARF
	addrSize uint8  // bytes of an address
	dw64     bool   // the 64-bit format: section offsets have 8 bytes
}

// offsetSize returns the size of a section offset in bytes.
func (f format) offsetSize() int {
	if f.dw64 {
		return 8
	}
	return 4
}

// fixedSize returns the number of bytes of a form, or -1 if the form has no fixed size or is
// unknown.
func (f format) fixedSize(form uint16) int {
	switch form {
	case formFlagPresent, formImplicit:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(f.addrSize)
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return f.offsetSize()
	case formRefAddr:
		if f.version <= 2 {
			return int(f.addrSize)
		}
		return f.offsetSize()
	}
	return -1
}

// read reads a value of the given form. Inline strings are kept as their position, blocks as their first
// byte. An unknown form makes the cursor bad, because the next value cannot be found.
func (f format) read(c *cursor, form uint16) value {
	if form == formIndirect {
		form = uint16(c.Uleb())
	}
	if n := f.fixedSize(form); n > 8 {
		c.Take(uint64(n))
		return value{form: form}
	} else if n >= 0 {
		return value{form, c.Uint(n)}
	}
	switch form {
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return value{form, c.Uleb()}
	case formSdata:
		return value{form, uint64(c.Sleb())}
	case formString:
		pos := c.Pos
		c.SkipString()
		return value{form, uint64(pos)}
	case formBlock, formExprloc:
		return c.block(form, c.Uleb())
	case formBlock1:
		return c.block(form, uint64(c.U8()))
	case formBlock2:
		return c.block(form, uint64(c.U16()))
	case formBlock4:
		return c.block(form, uint64(c.U32()))
	default:
		c.Fail()
	}
	return value{form: form}
}

// block skips a block of n bytes.
func (c *cursor) block(form uint16, n uint64) value {
	v := value{form: form}
	if b := c.Take(n); len(b) > 0 {
		v.u = uint64(b[0])
	}
	return v
}

// isAddr reports whether the form holds or indexes an address.
func (v value) isAddr() bool {
	switch v.form {
	case formAddr, formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return true
	}
	return false
}

// isBlock reports whether the form holds bytes, such as an expression.
func (v value) isBlock() bool {
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return true
	}
	return false
}

// isRef reports whether the form refers to another entry of this file.
func (v value) isRef() bool {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata, formRefAddr:
		return true
	}
	return false
}

// isAltRef reports whether the form refers to an entry of the supplementary file.
func (v value) isAltRef() bool {
	return v.form == formGNURefAlt || v.form == formRefSup4 || v.form == formRefSup8
}
