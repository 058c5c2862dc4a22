package dap

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// encoded is a value of ours as JSON: one that can always be.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
