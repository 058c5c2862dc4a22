package dwarfx

import "unsafe"

// kept is the index of an attribute that entries keep with its value.
type kept uint8

// The kept attributes; keepNone marks the others.
const (
	keepNone kept = iota
	keepSibling
	keepName
	keepLinkage
	keepLow
	keepHigh
	keepRanges
	keepOrigin
	keepSpec
	keepDeclFile
	keepDeclLine
	keepCallFile
	keepCallLine
	keepCallColumn
	keepArtificial
	keepStmtList
	keepCompDir
	keepLanguage
	keepStrBase
	keepAddrBase
	keepRangesBase
	keepLocation
	keptCount
)

// keepOf returns the index of an attribute.
func keepOf(attr uint64) kept {
	switch attr {
	case atSibling:
		return keepSibling
	case atName:
		return keepName
	case atLinkageName, atMIPSLinkage:
		return keepLinkage
	case atLowPC:
		return keepLow
	case atHighPC:
		return keepHigh
	case atRanges:
		return keepRanges
	case atAbstractOrigin:
		return keepOrigin
	case atSpecification:
		return keepSpec
	case atDeclFile:
		return keepDeclFile
	case atDeclLine:
		return keepDeclLine
	case atArtificial:
		return keepArtificial
	}
	return keepRare(attr)
}

// keepRare returns the index of a rare attribute.
func keepRare(attr uint64) kept {
	switch attr {
	case atCallFile:
		return keepCallFile
	case atCallLine:
		return keepCallLine
	case atCallColumn:
		return keepCallColumn
	case atStmtList:
		return keepStmtList
	case atCompDir:
		return keepCompDir
	case atLanguage:
		return keepLanguage
	case atStrOffsetsBase:
		return keepStrBase
	case atAddrBase, atGNUAddrBase:
		return keepAddrBase
	case atRnglistsBase:
		return keepRangesBase
	case atLocation:
		return keepLocation
	}
	return keepNone
}

// spec is one attribute of an abbreviation.
type spec struct {
	keep  kept
	form  uint16
	fixed int8  // bytes, or -1
	value int64 // of formImplicit
}

// abbrev is the shape of entries.
type abbrev struct {
	tag      uint64
	children bool // a list of children follows the entry
	attrs    []spec
	fixed    int // bytes of the whole entry after its code, or -1
}

// abbrevs is one abbreviation table. It is parsed only up to the requested codes: the root entry of
// a unit nearly always uses the first.
type abbrevs struct {
	d    *Data
	f    format
	rest cursor             // the unread part
	done bool               // the whole table is read, or the rest is damaged
	list []*abbrev          // codes 1, 2, …
	more map[uint64]*abbrev // codes that are out of order
}

// get returns the abbreviation of a code, or nil if it is not in the table.
func (t *abbrevs) get(code uint64) *abbrev {
	for {
		if code-1 < uint64(len(t.list)) {
			return t.list[code-1]
		}
		if a := t.more[code]; a != nil || t.done {
			return a
		}
		t.next()
	}
}

// next reads one more abbreviation: a code, a tag, and pairs of attribute and
// form up to a pair of zeros.
func (t *abbrevs) next() {
	code := t.rest.Uleb()
	if code == 0 || t.rest.Bad {
		t.done = true
		return
	}
	if !t.d.take(unsafe.Sizeof(abbrev{})) {
		t.done = true
		return
	}
	a := &abbrev{tag: t.rest.Uleb(), children: t.rest.U8() != 0}
	for {
		attr, form := t.rest.Uleb(), t.rest.Uleb()
		var s spec
		if form == formImplicit {
			s.value = t.rest.Sleb()
		}
		if attr == 0 && form == 0 {
			break
		}
		if t.rest.Bad || form > 0xffff || len(a.attrs) == maxAttrs || !t.d.take(2*unsafe.Sizeof(s)) {
			t.done = true
			return
		}
		s.keep, s.form = keepOf(attr), uint16(form)
		s.fixed = int8(t.f.fixedSize(s.form))
		if a.fixed >= 0 && s.fixed >= 0 {
			a.fixed += int(s.fixed)
		} else {
			a.fixed = -1
		}
		a.attrs = append(a.attrs, s)
	}
	if code == uint64(len(t.list))+1 {
		t.list = append(t.list, a)
		return
	}
	if t.more == nil {
		t.more = map[uint64]*abbrev{}
	}
	t.more[code] = a
}

// skip skips the attributes of an entry.
func (a *abbrev) skip(c *cursor, f format) {
	if a.fixed >= 0 {
		c.Take(uint64(a.fixed))
		return
	}
	// This is the hottest loop: most entries of a unit are only skipped.
	for i := range a.attrs {
		if s := &a.attrs[i]; s.fixed >= 0 {
			c.Take(uint64(s.fixed))
		} else {
			f.read(c, s.form)
		}
	}
}
