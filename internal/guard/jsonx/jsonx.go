// Package jsonx decodes JSON of others within a limit of memory. Three bytes of text, such as an empty object in a
// list, may take hundreds of bytes when they are decoded. So the memory is computed from the text and the
// destination's type, and counted in a ledger, before it is taken.
package jsonx

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// Sizer is implemented by types that decode themselves, and may take much more memory than their text has bytes.
type Sizer interface {
	// DecodedSize returns a bound for the memory of the value with this text, in bytes. The text has no quotes.
	DecodedSize(text []byte) uint64
}

// maxDepth bounds nested lists and objects: those of pictures and messages have some ten levels.
const maxDepth = 200

// errDepth is the error of a text with too many nested lists and objects.
var errDepth = errors.New("more than 200 nested lists and objects")

// Unmarshal decodes text as json.Unmarshal does. Before that, it counts the memory of the result in a ledger, where
// it stays counted. The error is one of budget.ErrMemory if the ledger refuses, and then nothing is decoded.
func Unmarshal(text []byte, into any, memory *budget.Ledger, what string) error {
	if !json.Valid(text) {
		return json.Unmarshal(text, into) // returns the error before it decodes anything
	}
	s := scanner{text: text}
	if s.value(typeOf(reflect.TypeOf(into))); s.tooDeep {
		return errDepth
	}
	if err := memory.Try(what, s.size); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Values returns the number of elements and members in a valid text, or an error if there are more than limit.
func Values(text []byte, limit int) error {
	if !json.Valid(text) {
		return nil // no decoder accepts it
	}
	s := scanner{text: text}
	switch s.value(nil); {
	case s.tooDeep:
		return errDepth
	case s.values > limit:
		return errors.New("a message with too many values")
	}
	return nil
}

// scanner adds up the memory of values in a text that is valid JSON.
type scanner struct {
	text    []byte
	at      int
	depth   int
	values  int
	size    uint64
	tooDeep bool
}

// Memory of a decoded value, in bytes, apart from its parts.
const (
	word       = 8
	perEntry   = 64    // of a map, in addition to its key and its value: maps are half empty when they have grown
	perPointer = 2 * 8 // what the allocator adds on average
	grown      = 2     // a list that grows is copied, and the copy is larger
	perSelf    = 4     // for each byte of a text that a type decodes itself, except for json.RawMessage
	perAny     = 3 * 8 // an interface, and the header of its value
	perAnyMap  = 6 * 8 // an empty map
)

// kind describes the destination of a value.
type kind struct {
	size    uint64
	kind    reflect.Kind
	element *kind // of a list, a map or a pointer
	key     uint64
	fields  []field
	self    Sizer // of a type that decodes itself, if it has one
	decodes bool  // the type decodes itself
	raw     bool  // it is json.RawMessage
}

// field is a field of a struct.
type field struct {
	name string
	kind *kind
}

// kinds caches the kinds of types.
var kinds sync.Map

// typeOf returns the kind of a type.
func typeOf(t reflect.Type) *kind {
	if k, ok := kinds.Load(t); ok {
		return k.(*kind)
	}
	k := newKind(t, map[reflect.Type]*kind{})
	kinds.Store(t, k)
	return k
}

// Interfaces of types that decode themselves.
var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
	sizer       = reflect.TypeFor[Sizer]()
)

// newKind describes a type. made has the types that are described already: a type may contain itself.
func newKind(t reflect.Type, made map[reflect.Type]*kind) *kind {
	if k := made[t]; k != nil {
		return k
	}
	k := &kind{size: uint64(t.Size()), kind: t.Kind()}
	made[t] = k
	if p := reflect.PointerTo(t); p.Implements(jsonDecoder) || p.Implements(textDecoder) {
		k.decodes, k.raw = true, t == reflect.TypeFor[json.RawMessage]()
		if p.Implements(sizer) {
			k.self, _ = reflect.New(t).Interface().(Sizer)
		}
		return k
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		k.element = newKind(t.Elem(), made)
	case reflect.Map:
		k.element, k.key = newKind(t.Elem(), made), uint64(t.Key().Size())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			k.fields = append(k.fields, field{name, newKind(f.Type, made)})
		}
	}
	return k
}

// field returns the destination of a member; nil if it is ignored.
func (k *kind) field(name string) *kind {
	for _, f := range k.fields {
		if f.name == name {
			return f.kind
		}
	}
	for _, f := range k.fields {
		if strings.EqualFold(f.name, name) {
			return f.kind
		}
	}
	return nil
}

// value reads a value, and adds the memory that it takes in addition to the place where it is stored.
func (s *scanner) value(k *kind) {
	s.values++
	s.skipSpace()
	for k != nil && k.kind == reflect.Pointer && !k.decodes {
		if s.text[s.at] == 'n' { // null
			k = nil
			break
		}
		k = k.element
		s.size += k.size + perPointer
	}
	if k != nil && k.decodes {
		s.own(k)
		return
	}
	if k != nil && k.kind == reflect.Interface {
		s.size += perAny
	}
	switch s.text[s.at] {
	case '{':
		s.nested(func() { s.object(k) })
	case '[':
		s.nested(func() { s.list(k) })
	case '"':
		if text := s.stringText(); k != nil {
			s.size += uint64(len(text))
		}
	default:
		s.skipScalar()
	}
}

// own reads a value that its type decodes itself.
func (s *scanner) own(k *kind) {
	begin := s.at
	s.value(nil)
	text := s.text[begin:s.at]
	switch {
	case k.raw:
		s.size += uint64(len(text))
		return
	case k.self == nil:
		s.size += perSelf * uint64(len(text))
		return
	}
	s.size += uint64(len(text)) + k.self.DecodedSize(trimQuotes(text))
}

// trimQuotes returns the text of a string without its quotes.
func trimQuotes(text []byte) []byte {
	if len(text) >= 2 && text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// nested reads a list or an object, unless it is nested too deeply.
func (s *scanner) nested(read func()) {
	if s.depth++; s.depth > maxDepth {
		s.tooDeep, s.at = true, len(s.text)
	}
	if !s.tooDeep {
		read()
	}
	s.depth--
}

// object reads an object.
func (s *scanner) object(k *kind) {
	if k != nil && k.kind == reflect.Interface {
		s.size += perAnyMap
	}
	for first := true; s.more('}', first); first = false {
		name := s.stringText()
		s.skipSpace()
		s.at++ // the colon
		var member *kind
		switch {
		case k == nil:
		case k.kind == reflect.Struct:
			member = k.field(decodedName(name))
		case k.kind == reflect.Map:
			member = k.element
			s.size += grown*(k.key+member.size) + perEntry + uint64(len(name))
		case k.kind == reflect.Interface:
			member = k
			s.size += grown*4*word + perEntry + uint64(len(name))
		}
		if s.value(member); s.tooDeep {
			return
		}
	}
}

// decodedName returns the name of a member: encoding/json decodes escapes before it compares names.
func decodedName(name []byte) string {
	if !slices.Contains(name, '\\') {
		return string(name)
	}
	var text string
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &text) // the text is valid
	return text
}

// list reads a list.
func (s *scanner) list(k *kind) {
	var element *kind
	switch {
	case k == nil:
	case k.kind == reflect.Slice, k.kind == reflect.Array:
		element = k.element
	case k.kind == reflect.Interface:
		element = k
	}
	for first := true; s.more(']', first); first = false {
		if element != nil && k.kind != reflect.Array {
			s.size += grown * element.size
		}
		if s.value(element); s.tooDeep {
			return
		}
	}
}

// more moves to the next element or member, and reports whether there is one. It reads the end otherwise.
func (s *scanner) more(end byte, first bool) bool {
	if first {
		s.at++ // the bracket
	}
	s.skipSpace()
	if s.text[s.at] == end {
		s.at++
		return false
	}
	if !first {
		s.at++ // the comma
		s.skipSpace()
	}
	return true
}

func (s *scanner) skipSpace() {
	for s.at < len(s.text) && s.text[s.at] <= ' ' {
		s.at++
	}
}

// skipScalar reads a number, true, false or null.
func (s *scanner) skipScalar() {
	for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n,]}", rune(s.text[s.at])) {
		s.at++
	}
}

// stringText reads a string and returns its text without quotes.
func (s *scanner) stringText() []byte {
	s.at++
	begin := s.at
	for s.text[s.at] != '"' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at++
	return s.text[begin : s.at-1]
}
