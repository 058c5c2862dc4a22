package layout

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxEntries bounds the entries of debug information that are read for one runtime. LLVM's has some 300,000.
const maxEntries = 4 << 20

// maxNesting bounds the depth to which typedefs, qualifiers and unnamed members are followed.
const maxNesting = 32

// fromDWARF returns the source "debuginfo" for the runtime's own debug information. load is called
// once, for the first question; bias is the difference between an address in the target and in the
// file. Units are read in order, only until the requested name is found.
func fromDWARF(load func() (*dwarf.Data, error), bias uint64) Source {
	return &dwarfSource{load: load, bias: bias, types: map[string]dwarf.Offset{}, globals: map[string]uint64{}}
}

type dwarfSource struct {
	load    func() (*dwarf.Data, error)
	bias    uint64
	data    *dwarf.Data
	reader  *dwarf.Reader // at the end of the index; nil after the last unit
	left    int           // entries that may still be read
	err     error         // the reason why the rest cannot be read
	types   map[string]dwarf.Offset
	globals map[string]uint64
}

// Name returns "debuginfo".
func (s *dwarfSource) Name() string { return "debuginfo" }

// Field follows the path through the members of the type.
func (s *dwarfSource) Field(typ, path string) (f Field, err error) {
	defer recovered(&err)
	t, err := s.find(typ)
	if err != nil {
		return f, err
	}
	for part := range strings.SplitSeq(path, ".") {
		m, ok := member(t, part, 0)
		if !ok {
			return Field{}, fmt.Errorf("%s has no %s: %w", typ, path, ErrUnknown)
		}
		f = m.place.InOuter(Field{Offset: f.Offset, Size: max(f.Size, 1)})
		t = m.typ
	}
	if !f.IsKnown() || f.End() > MaxRecord {
		return Field{}, fmt.Errorf("debug information places %s.%s at %v", typ, path, f)
	}
	return f, nil
}

// Type returns the size in the debug information.
func (s *dwarfSource) Type(typ string) (t Type, err error) {
	defer recovered(&err)
	d, err := s.find(typ)
	if err != nil {
		return t, err
	}
	if n := d.Size(); n > 0 && n <= MaxRecord {
		return Type{Size: uint64(n)}, nil
	}
	return t, fmt.Errorf("debug information gives %s %d bytes", typ, d.Size())
}

// Global returns the address of a variable that has it in its entry. Clang's DWARF 5 has addresses in a table
// that the entry refers to; such variables are left to symbols.
func (s *dwarfSource) Global(name string) (a uint64, err error) {
	defer recovered(&err)
	for {
		if a, ok := s.globals[name]; ok {
			return a + s.bias, nil
		}
		if err := s.readUnit(); err != nil {
			return 0, err
		}
	}
}

// find returns a type by its name; it reads further units until it finds it.
func (s *dwarfSource) find(typ string) (dwarf.Type, error) {
	for {
		if off, ok := s.types[typ]; ok {
			t, err := s.data.Type(off)
			if st, ok := strip(t).(*dwarf.StructType); !ok || !st.Incomplete {
				return t, err
			}
			delete(s.types, typ) // this unit only declares it
		}
		if err := s.readUnit(); err != nil {
			return nil, err
		}
	}
}

// readUnit adds the next unit's types and variables to the index. It returns ErrUnknown after the last unit.
func (s *dwarfSource) readUnit() error {
	if s.load != nil {
		data, err := s.load()
		s.load = nil
		if err != nil {
			s.err = fmt.Errorf("%w: %w", ErrUnknown, err)
			return s.err
		}
		s.data, s.reader, s.left = data, data.Reader(), maxEntries
	}
	if s.reader == nil || s.err != nil {
		return errors.Join(s.err, ErrUnknown)
	}
	for first := true; ; first = false {
		e, err := s.reader.Next()
		if s.left--; err != nil || s.left < 0 {
			s.err = fmt.Errorf("debug information: %w", errors.Join(err, ErrUnknown))
			return s.err
		}
		if e == nil {
			s.reader = nil
			return nil // the last unit's entries are in the index
		}
		if e.Tag == 0 && !first {
			return nil
		}
		if e.Tag == 0 || e.Tag == dwarf.TagCompileUnit {
			continue
		}
		s.index(e)
		if e.Children {
			s.reader.SkipChildren()
		}
	}
}

// index adds a type or a variable at the outermost level of a unit.
func (s *dwarfSource) index(e *dwarf.Entry) {
	name, _ := e.Val(dwarf.AttrName).(string)
	declaration, _ := e.Val(dwarf.AttrDeclaration).(bool)
	if name == "" || declaration {
		return
	}
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagClassType:
		if _, ok := s.types[name]; !ok {
			s.types[name] = e.Offset
		}
	case dwarf.TagVariable:
		const opAddr = 3 // DW_OP_addr
		if loc, _ := e.Val(dwarf.AttrLocation).([]byte); len(loc) == 9 && loc[0] == opAddr {
			s.globals[name] = binary.LittleEndian.Uint64(loc[1:])
		}
	}
}

// found is a member of a structure.
type found struct {
	place Field
	typ   dwarf.Type
}

// member looks name up in a structure, and in its unnamed members.
func member(t dwarf.Type, name string, depth int) (found, bool) {
	st, ok := strip(t).(*dwarf.StructType)
	if !ok || depth > maxNesting {
		return found{}, false
	}
	for _, m := range st.Field {
		at := Field{Offset: uint64(m.ByteOffset), Size: uint64(max(m.Type.Size(), 0))}
		if m.Name == name {
			if m.BitSize != 0 {
				at = bitField(m)
			}
			return found{at, m.Type}, true
		}
		if m.Name == "" {
			if in, ok := member(m.Type, name, depth+1); ok {
				in.place.Offset += at.Offset
				return in, true
			}
		}
	}
	return found{}, false
}

// bitField converts a bit field to the aligned word of its type.
func bitField(m *dwarf.StructField) Field {
	size := m.Type.Size()
	if size <= 0 || size > 8 || m.BitSize > size*8 {
		return Field{}
	}
	at := m.DataBitOffset
	if m.ByteSize != 0 { // DWARF 2 counts from the most significant bit of the word
		at = m.ByteOffset*8 + m.ByteSize*8 - m.BitOffset - m.BitSize
	}
	word := at / (size * 8) * size
	mask := ^uint64(0) >> (64 - m.BitSize) << (at - word*8)
	return Field{Offset: uint64(word), Size: uint64(size), Mask: mask}
}

// strip follows typedefs and qualifiers.
func strip(t dwarf.Type) dwarf.Type {
	for range maxNesting {
		switch u := t.(type) {
		case *dwarf.TypedefType:
			t = u.Type
		case *dwarf.QualType:
			t = u.Type
		default:
			return t
		}
	}
	return t
}

// recovered turns a panic of debug/dwarf, which trusts its input, into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged debug information: %v", p)
	}
}

// fromTypes returns the source "debuginfo" for a debugger's type callbacks. file limits it to one
// module, as in callbacks.Symbols. It has no bit fields and no globals.
func fromTypes(types callbacks.Types, file string) Source { return &typesSource{types, file} }

type typesSource struct {
	types callbacks.Types
	file  string
}

func (s *typesSource) Name() string { return "debuginfo" }

func (s *typesSource) Field(typ, field string) (Field, error) {
	offset, size, err := s.types.FieldOffset(typ, field, s.file)
	if err != nil {
		return Field{}, s.unknown(err)
	}
	return Field{Offset: offset, Size: size}, nil
}

func (s *typesSource) Type(typ string) (Type, error) {
	size, err := s.types.TypeSize(typ, s.file)
	if err != nil {
		return Type{}, s.unknown(err)
	}
	return Type{Size: size}, nil
}

func (s *typesSource) Global(string) (uint64, error) { return 0, ErrUnknown }

// unknown keeps errors other than a missing type.
func (s *typesSource) unknown(err error) error {
	if errors.Is(err, callbacks.ErrNoType) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}
