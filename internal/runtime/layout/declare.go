package layout

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// name is one declared name: the question for sources, and the destination of the answer.
type name struct {
	typ, member string // as in Entry
	optional    bool
	at          any // *Field, *Type or *Global
}

func (n name) String() string { return entryName(n.typ, n.member) }

// ask asks one source for the name.
func (n name) ask(s Source) (Entry, error) {
	e := Entry{Type: n.typ, Name: n.member, Source: s.Name()}
	var err error
	switch n.at.(type) {
	case *Field:
		e.Field, err = s.Field(n.typ, n.member)
		if err == nil && e.Field.Size == 0 {
			err = errors.New("a field of size 0")
		}
	case *Type:
		var t Type
		t, err = s.Type(n.typ)
		e.Field.Size = t.Size
		if err == nil && t.Size == 0 {
			err = errors.New("a structure of size 0")
		}
	case *Global:
		e.Global, err = s.Global(n.member)
		if err == nil && e.Global == 0 {
			err = errors.New("a variable at address 0")
		}
	}
	return e, err
}

// store sets the destination to the resolved value.
func (n name) store(e Entry) {
	var a *absence
	if e.Err != nil {
		a = &absence{n.String(), e.Err}
		errors.As(e.Err, &a)
	}
	switch at := n.at.(type) {
	case *Field:
		*at = Field{Offset: e.Field.Offset, Size: e.Field.Size, Mask: e.Field.Mask, absence: a}
	case *Type:
		*at = Type{Size: e.Field.Size, absence: a}
	case *Global:
		*at = Global{Address: callbacks.Addr(e.Global), absence: a}
	}
}

// declared lists the names of the structure that dst points to.
func declared(dst any) ([]name, error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("layout declaration: %T is not a pointer to a structure", dst)
	}
	return appendDeclared(nil, v.Elem(), "")
}

// appendDeclared lists the names in v, a structure of values that belong to typ (empty: each has its own type).
func appendDeclared(names []name, v reflect.Value, typ string) ([]name, error) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		tag, optional := strings.CutSuffix(f.Tag.Get("layout"), ",optional")
		n := name{optional: optional, at: v.Field(i).Addr().Interface()}
		ok := true
		switch n.at.(type) {
		case *Field:
			n.typ, n.member, ok = typ, tag, tag != ""
			if typ == "" {
				n.typ, n.member, ok = strings.Cut(tag, ".")
			}
		case *Type:
			if n.typ = tag; tag == "" {
				n.typ = typ
			}
			ok = n.typ != ""
		case *Global:
			n.member, ok = strings.CutPrefix(tag, "global ")
		default:
			if f.Type.Kind() != reflect.Struct {
				return nil, fmt.Errorf("layout declaration: %s has type %v", f.Name, f.Type)
			}
			var err error
			if names, err = appendDeclared(names, v.Field(i), tag); err != nil {
				return nil, err
			}
			continue
		}
		if !ok {
			return nil, fmt.Errorf("layout declaration: tag %q of %s names nothing", tag, f.Name)
		}
		names = append(names, n)
	}
	return names, nil
}
