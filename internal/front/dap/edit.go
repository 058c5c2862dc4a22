package dap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// span is a part of a text.
type span struct{ from, to int }

// of is the text of the part.
func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// edit replaces a part of a text. All that is not in a part stays as it is, byte for byte.
type edit struct {
	span
	text []byte
}

// edited is a text with edits that do not overlap.
func edited(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out := make([]byte, 0, len(text)+1<<10)
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}

// members are where the values of an object of a JSON text are, by name; nil if the part is none.
func members(text []byte, object span) map[string]span {
	d := json.NewDecoder(bytes.NewReader(object.of(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	out := map[string]span{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		name, _ := key.(string)
		value, ok := next(d, text, object.from)
		if !ok {
			return nil
		}
		out[name] = value
	}
	return out
}

// items are where the elements of a list of a JSON text are; nil if the part is none.
func items(text []byte, list span) []span {
	d := json.NewDecoder(bytes.NewReader(list.of(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil
	}
	out := []span{}
	for d.More() {
		value, ok := next(d, text, list.from)
		if !ok {
			return nil
		}
		out = append(out, value)
	}
	return out
}

// next is where the next value is that a decoder of the text from an offset on reads.
func next(d *json.Decoder, text []byte, offset int) (span, bool) {
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return span{}, false
	}
	end := offset + int(d.InputOffset())
	s := span{end - len(raw), end}
	return s, bytes.Equal(s.of(text), raw)
}

// within is where a value is that names lead to, from the whole text on.
func within(text []byte, names ...string) (span, bool) {
	at := span{0, len(text)}
	for _, name := range names {
		var ok bool
		if at, ok = members(text, at)[name]; !ok {
			return at, false
		}
	}
	return at, true
}

// valueOf decodes the value at a part; the zero value if it is of another type.
func valueOf[T any](text []byte, at span) (v T) {
	if json.Unmarshal(at.of(text), &v) != nil {
		var zero T
		return zero
	}
	return v
}

// with adds members, such as `"a":1,"b":2`, to an object.
func with(text []byte, object span, more []byte) edit {
	at := object.from + 1
	if len(members(text, object)) > 0 {
		more = append(slices.Clip(more), ',')
	}
	return edit{span{at, at}, more}
}

// listed is a list of values that are JSON already.
func listed(values [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
}

// element is one of a list that is shown: of the list that came, or added to it.
type element struct {
	text []byte
	at   int // its place in the list that came; added for one that is not of it
}

// added is the place of an element that the adapter does not have.
const added = -1

// came are the elements of a list as they came.
func came(text []byte, list []span) []element {
	out := make([]element, len(list))
	for i, s := range list {
		out[i] = element{s.of(text), i}
	}
	return out
}

// addition is an element that is added.
func addition(v any) element { return element{encoded(v), added} }

// relisted replaces the elements of a list. What stands between those that came, and around them, stays as it is:
// whoever takes the additions out, each with a comma, has the list as it came.
func relisted(text []byte, at span, list []span, shown []element) edit {
	head, tail := at.to-1, at.to-1
	if len(list) > 0 {
		head, tail = list[0].from, list[len(list)-1].to
	}
	out := append([]byte(nil), text[at.from:head]...)
	last := added
	for i, e := range shown {
		switch {
		case i == 0:
		case e.at > 0 && last != added:
			out = append(out, text[list[e.at-1].to:list[e.at].from]...)
		default:
			out = append(out, ',')
		}
		out = append(out, e.text...)
		last = max(last, e.at)
	}
	return edit{at, append(out, text[tail:at.to]...)}
}

// formerPrefix begins the name of a member that has the value of the member before it as the debugger gave it.
const formerPrefix = "ompd/"

// replaced gives a member of an object another value, and keeps the former.
func replaced(text []byte, at span, member string, value any) edit {
	return edit{at, slices.Concat(encoded(value), []byte(`,"`+formerPrefix+member+`":`), at.of(text))}
}

// newMember is a member that an object does not have, with null as its former value.
func newMember(name string, value any) []byte {
	return fmt.Appendf(nil, `%q:%s,"%s%s":null`, name, encoded(value), formerPrefix, name)
}

// encoded is a value of ours as JSON: one that can always be.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
