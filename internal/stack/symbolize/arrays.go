package symbolize

import (
	"debug/dwarf"
	"strconv"
)

// Reasons why an array of Fortran has no elements, as gdb has them.
const (
	missingAllocation  = "not allocated"
	missingAssociation = "not associated"
)

// shape is an array with its bounds at one moment.
type shape struct {
	dims    []dimension
	strides []int64 // of each dimension, in bytes
	count   int64   // of elements
	size    uint64  // of an element
	at      place   // of the first element
}

// number returns the value of an attribute of a type: a constant, an expression on the object at an address, or the
// value of a variable.
func (d *decoder) number(e *dwarf.Entry, name dwarf.Attr, object uint64) (n int64, ok bool) {
	switch v := e.Val(name).(type) {
	case int64:
		return v, true
	case []byte:
		if d.in == nil {
			return 0, false
		}
		m := machine{locals: d.in, object: object}
		m.c.Data = v
		if !m.run() || len(m.pieces) > 0 || m.now.missing != "" {
			return 0, false
		}
		if m.now.kind == locatedData {
			return parseInteger(m.now.data, true), true
		}
		return int64(m.now.value), true
	case dwarf.Offset:
		return d.variableNumber(v)
	}
	return 0, false
}

// variableNumber returns the value of a variable of an integer type; compilers make some for bounds.
func (d *decoder) variableNumber(off dwarf.Offset) (n int64, ok bool) {
	e, _ := d.readEntry(off)
	if e == nil || d.in == nil {
		return 0, false
	}
	_, typ := d.in.vs.nameAndType(e)
	size, sized := d.sizeInBytes(typ)
	p, why := d.in.placeOf(e, typ)
	if constant, ok := d.in.constantOf(e); ok {
		p, why = constant, ""
	}
	if why != "" || !sized || size > 8 {
		return 0, false
	}
	b, why := d.readBytes(p, size)
	return parseInteger(b, d.isSigned(typ)), why == ""
}

// shapeOf returns the array of a type at a place; why is the reason if it has no elements.
func (d *decoder) shapeOf(e *dwarf.Entry, in []*dwarf.Entry, p place) (s shape, why string) {
	if n, ok := d.number(e, dwarf.AttrAllocated, p.addr); ok && n == 0 {
		return s, missingAllocation
	}
	if n, ok := d.number(e, dwarf.AttrAssociated, p.addr); ok && n == 0 {
		return s, missingAssociation
	}
	s.at = p
	if e.Val(dwarf.AttrDataLocation) != nil {
		at, ok := d.number(e, dwarf.AttrDataLocation, p.addr)
		if !ok {
			return s, missingShape
		}
		s.at = place{addr: uint64(at)}
	}
	size, ok := d.sizeInBytes(typeOf(e))
	if !ok || e.Val(dwarf.AttrStrideSize) != nil || e.Val(dwarf.AttrStride) != nil {
		return s, missingShape
	}
	s.size, s.count, s.dims = size, 1, d.dimensionsOf(in)
	n := 0
	for _, r := range in {
		if r.Tag != dwarf.TagSubrangeType || n == len(s.dims) {
			continue
		}
		stride, ok := d.boundsOf(r, &s.dims[n], p.addr)
		dim := s.dims[n]
		if !ok || dim.count < 0 || dim.count > 0 && s.count > maxSize/dim.count || !dim.bound {
			return s, missingShape
		}
		s.strides = append(s.strides, stride)
		s.count *= dim.count
		n++
	}
	if n == 0 {
		return s, missingShape
	}
	s.fillStrides(d.lang.fortran)
	return s, ""
}

// boundsOf completes a dimension by bounds that are known at run time only, and returns its stride; 0 if the elements
// follow each other.
func (d *decoder) boundsOf(r *dwarf.Entry, dim *dimension, object uint64) (stride int64, ok bool) {
	if low, ok := d.number(r, dwarf.AttrLowerBound, object); ok {
		dim.low, dim.bound = low, true
	}
	if dim.low < -maxSize || dim.low > maxSize {
		return 0, false
	}
	if n, ok := d.number(r, dwarf.AttrCount, object); ok {
		dim.count = n
	} else if high, ok := d.number(r, dwarf.AttrUpperBound, object); ok && high < maxSize && high > -maxSize {
		dim.count = max(high-dim.low+1, 0)
	} else {
		return 0, false
	}
	if r.Val(dwarf.AttrStride) != nil {
		stride, ok = d.number(r, dwarf.AttrStride, object)
		return stride, ok
	}
	return 0, true
}

// fillStrides sets the strides of dimensions without one: in Fortran the first changes fastest, otherwise the last.
func (s *shape) fillStrides(fortran bool) {
	next := int64(s.size)
	for k := range s.dims {
		i := k
		if !fortran {
			i = len(s.dims) - 1 - k
		}
		if s.strides[i] == 0 {
			s.strides[i] = next
		}
		next = s.strides[i] * s.dims[i].count
	}
}

// element returns the place of an element by its number in the order of formatSubscripts.
func (s *shape) element(i int64, fortran bool) place {
	off := int64(0)
	for k := range s.dims {
		n := k
		if !fortran {
			n = len(s.dims) - 1 - k
		}
		off += i % s.dims[n].count * s.strides[n]
		i /= s.dims[n].count
	}
	if s.at.data != nil && off < 0 {
		return place{data: []byte{}}
	}
	return s.at.advance(uint64(off))
}

// fillArray adds the elements to v, or the text of an array of characters.
func (d *decoder) fillArray(v *Value, e *dwarf.Entry, in []*dwarf.Entry, p place, depth, pointers int) {
	s, why := d.shapeOf(e, in, p)
	if v.Missing = why; why != "" {
		return
	}
	if s.size == 1 && len(s.dims) == 1 && s.strides[0] == 1 && d.isCharacter(typeOf(e)) {
		b, why := d.readBytes(s.at, uint64(min(s.count, maxString)))
		if v.Text = quoteText(b); why != "" {
			v.Text, v.Missing = "", why
		}
		return
	}
	d.fillElements(v, sequence{typ: typeOf(e), count: s.count,
		at: func(i int64) (place, bool) { return s.element(i, d.lang.fortran), true },
		name: func(i int64) string {
			name, _ := formatSubscripts(s.dims, uint64(i), d.lang)
			return name
		}}, depth, pointers)
}

// fillString sets v to the text of a string of Fortran, whose length is in its type.
func (d *decoder) fillString(v *Value, e *dwarf.Entry, p place) {
	n, ok := d.number(e, dwarf.AttrStringLength, p.addr)
	if size, fixed := e.Val(dwarf.AttrByteSize).(int64); !ok && fixed {
		n, ok = size, true
	}
	if !ok || n < 0 {
		v.Missing = missingShape
		return
	}
	b, why := d.readBytes(p, uint64(min(n, maxString)))
	if v.Missing = why; why == "" {
		v.Text = strconv.Quote(string(b))
	}
	if n > maxString {
		v.Text += "…"
	}
}
