// Package wire converts the structs of package picture to the messages of the gRPC API and back.
//
// The messages are generated from the structs (tools/contract): the tag of a field is the number of the
// message's field. So the conversion is one walk over both, and a test finds a field that is missing on one
// side. A word is a value of an enum there: the word in capitals after the name of the enum, as ROLE_WORKER for
// worker.
package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// field pairs a field of a struct with that of a message.
type field struct {
	index []int // for a field of an embedded struct, after the index of that
	keep  bool  // the JSON form has the key even if the list is empty
	desc  protoreflect.FieldDescriptor
}

// plan describes the conversion of a struct.
type plan struct {
	fields []field
	err    error // struct and message differ
}

// plans contains the plan of each convertible struct. It is made on first use: most commands never convert one.
var plans = sync.OnceValue(func() map[reflect.Type]plan {
	all := planAll(map[reflect.Type]plan{}, reflect.TypeFor[picture.Picture](),
		(&ompdv1.Picture{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Breakpoint](), (&ompdv1.Breakpoint{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Look](), (&ompdv1.Look{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Event](), (&ompdv1.Event{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Recording](), (&ompdv1.Recording{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Profile](), (&ompdv1.Profile{}).ProtoReflect().Descriptor())
	planAll(all, reflect.TypeFor[picture.Statistics](), (&ompdv1.Statistics{}).ProtoReflect().Descriptor())
	return planAll(all, reflect.TypeFor[picture.Process](), (&ompdv1.Process{}).ProtoReflect().Descriptor())
})

// planAll adds the plans for struct type t with messages md, and for its parts.
func planAll(to map[reflect.Type]plan, t reflect.Type, md protoreflect.MessageDescriptor) map[reflect.Type]plan {
	p := planOf(t, md)
	to[t] = p
	for _, f := range p.fields {
		inner := t.FieldByIndex(f.index).Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if _, done := to[inner]; f.desc.Message() != nil && !done {
			planAll(to, inner, f.desc.Message())
		}
	}
	return to
}

// planOf pairs the fields of struct type t with those of message md.
func planOf(t reflect.Type, md protoreflect.MessageDescriptor) plan {
	var p plan
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		number, _ := strconv.Atoi(f.Tag.Get("pb"))
		d := md.Fields().ByNumber(protoreflect.FieldNumber(number))
		if d == nil || string(d.Name()) != name {
			p.err = errors.Join(p.err, fmt.Errorf("%s has no field %d for the key %s of %v", md.FullName(), number,
				name, t))
			continue
		}
		p.fields = append(p.fields, field{f.Index, !strings.Contains(options, "omitempty"), d})
	}
	if len(p.fields) < md.Fields().Len() {
		p.err = errors.Join(p.err, fmt.Errorf("%v has no keys for %d fields of %s", t, md.Fields().Len()-len(p.fields),
			md.FullName()))
	}
	return p
}

// Pack fills message m from the struct of a picture that v points to. An error means that their fields differ.
func Pack(v any, m proto.Message) error {
	return pack(reflect.ValueOf(v).Elem(), m.ProtoReflect())
}

// Unpack fills the struct of a picture that v points to from message m.
func Unpack(m proto.Message, v any) error {
	return unpack(m.ProtoReflect(), reflect.ValueOf(v).Elem())
}

func pack(v reflect.Value, m protoreflect.Message) error {
	p := plans()[v.Type()]
	if p.err != nil {
		return p.err
	}
	for _, f := range p.fields {
		if err := packField(v.FieldByIndex(f.index), m, f.desc); err != nil {
			return fmt.Errorf("%s: %w", f.desc.FullName(), err)
		}
	}
	return nil
}

func packField(v reflect.Value, m protoreflect.Message, d protoreflect.FieldDescriptor) error {
	switch {
	case v.IsZero(): // unset, which unpacks to the zero value
		return nil
	case d.IsList():
		l := m.Mutable(d).List()
		for i := range v.Len() {
			if d.Message() != nil {
				if err := pack(v.Index(i), l.AppendMutable().Message()); err != nil {
					return err
				}
				continue
			}
			x, err := scalar(v.Index(i), d)
			if err != nil {
				return err
			}
			l.Append(x)
		}
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if d.Message() != nil {
		return pack(v, m.Mutable(d).Message())
	}
	x, err := scalar(v, d)
	if err == nil {
		m.Set(d, x)
	}
	return err
}

// scalar converts v to a value of a field of that type.
func scalar(v reflect.Value, d protoreflect.FieldDescriptor) (protoreflect.Value, error) {
	k := d.Kind()
	switch {
	case k == protoreflect.StringKind && v.Kind() == reflect.String:
		return protoreflect.ValueOfString(validText(v.String())), nil
	case k == protoreflect.EnumKind && v.Kind() == reflect.String:
		return protoreflect.ValueOfEnum(numberOf(d.Enum(), v.String())), nil
	case k == protoreflect.Int64Kind && v.CanInt():
		return protoreflect.ValueOfInt64(v.Int()), nil
	case k == protoreflect.Uint64Kind && v.CanUint():
		return protoreflect.ValueOfUint64(v.Uint()), nil
	case k == protoreflect.DoubleKind && v.CanFloat():
		return protoreflect.ValueOfFloat64(v.Float()), nil
	case k == protoreflect.BoolKind && v.Kind() == reflect.Bool:
		return protoreflect.ValueOfBool(v.Bool()), nil
	}
	return protoreflect.Value{}, fmt.Errorf("%v is not carried as %v", v.Type(), k)
}

// wordOf returns the JSON word of a value of an enum: its name without the prefix, in lower case, or "" for
// UNSPECIFIED. The word of a value of a newer version is its number.
func wordOf(d protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	v := d.Values().ByNumber(n)
	switch {
	case n == 0:
		return ""
	case v == nil:
		return strconv.Itoa(int(n))
	}
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), enumPrefix(d)))
}

// numberOf is the inverse of wordOf. An unknown word is UNSPECIFIED.
func numberOf(d protoreflect.EnumDescriptor, word string) protoreflect.EnumNumber {
	if v := d.Values().ByName(protoreflect.Name(enumPrefix(d) + strings.ToUpper(word))); v != nil {
		return v.Number()
	}
	n, _ := strconv.ParseInt(word, 10, 32) // 0 for a word
	return protoreflect.EnumNumber(n)
}

// enumPrefix returns the prefix of the names of an enum's values.
func enumPrefix(d protoreflect.EnumDescriptor) string {
	return strings.TrimSuffix(string(d.Values().ByNumber(0).Name()), "UNSPECIFIED")
}

// validText replaces each byte that is not UTF-8 by U+FFFD, like JSON: messages contain only UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func unpack(m protoreflect.Message, v reflect.Value) error {
	p := plans()[v.Type()]
	if p.err != nil {
		return p.err
	}
	for _, f := range p.fields {
		if err := unpackField(m, f, v.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.desc.FullName(), err)
		}
	}
	return nil
}

func unpackField(m protoreflect.Message, f field, v reflect.Value) error {
	d := f.desc
	switch {
	case d.IsList():
		return unpackList(m.Get(d).List(), f, v)
	case !m.Has(d):
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if d.Message() != nil {
		return unpack(m.Get(d).Message(), v)
	}
	return setScalar(v, m.Get(d), d)
}

func unpackList(l protoreflect.List, f field, v reflect.Value) error {
	if l.Len() == 0 && !f.keep {
		return nil
	}
	v.Set(reflect.MakeSlice(v.Type(), l.Len(), l.Len()))
	for i := range l.Len() {
		var err error
		if f.desc.Message() != nil {
			err = unpack(l.Get(i).Message(), v.Index(i))
		} else {
			err = setScalar(v.Index(i), l.Get(i), f.desc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setScalar(v reflect.Value, x protoreflect.Value, d protoreflect.FieldDescriptor) error {
	k := d.Kind()
	switch {
	case k == protoreflect.StringKind && v.Kind() == reflect.String:
		v.SetString(x.String())
	case k == protoreflect.EnumKind && v.Kind() == reflect.String:
		v.SetString(wordOf(d.Enum(), x.Enum()))
	case k == protoreflect.Int64Kind && v.CanInt():
		v.SetInt(x.Int())
	case k == protoreflect.Uint64Kind && v.CanUint():
		v.SetUint(x.Uint())
	case k == protoreflect.DoubleKind && v.CanFloat():
		v.SetFloat(x.Float())
	case k == protoreflect.BoolKind && v.Kind() == reflect.Bool:
		v.SetBool(x.Bool())
	default:
		return fmt.Errorf("%v is not carried as %v", v.Type(), k)
	}
	return nil
}
