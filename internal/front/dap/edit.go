package dap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// Limits of messages that a proxy edits. A larger list or object passes unchanged.
const (
	maxParts    = 1 << 18   // elements or members
	maxReceived = 256 << 20 // memory of a decoded part, in bytes
)

// span is a part of a text.
type span struct{ from, to int }

// slice returns the text of the part.
func (s span) slice(text []byte) []byte { return text[s.from:s.to] }

// edit replaces a part of a text. All other parts stay unchanged, byte for byte.
type edit struct {
	span
	text []byte
}

// applyEdits returns a text with edits applied. They must not overlap.
func applyEdits(text []byte, edits []edit) []byte {
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

// findMembers returns the places of the values of a JSON object, by name; nil if the part is not an object.
func findMembers(text []byte, object span) map[string]span {
	d := json.NewDecoder(bytes.NewReader(object.slice(text)))
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
		value, ok := nextValue(d, text, object.from)
		if !ok || len(out) == maxParts {
			return nil
		}
		out[name] = value
	}
	return out
}

// findItems returns the places of the elements of a JSON list; nil if the part is not a list.
func findItems(text []byte, list span) []span {
	d := json.NewDecoder(bytes.NewReader(list.slice(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil
	}
	out := []span{}
	for d.More() {
		value, ok := nextValue(d, text, list.from)
		if !ok || len(out) == maxParts {
			return nil
		}
		out = append(out, value)
	}
	return out
}

// nextValue returns the place of the next value that the decoder reads. offset is the start of its text.
func nextValue(d *json.Decoder, text []byte, offset int) (span, bool) {
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return span{}, false
	}
	end := offset + int(d.InputOffset())
	s := span{end - len(raw), end}
	return s, bytes.Equal(s.slice(text), raw)
}

// findValue returns the place of the value at a path of names, from the root of the text.
func findValue(text []byte, names ...string) (span, bool) {
	at := span{0, len(text)}
	for _, name := range names {
		var ok bool
		if at, ok = findMembers(text, at)[name]; !ok {
			return at, false
		}
	}
	return at, true
}

// decodeAt decodes the value at a part; it returns the zero value if the type differs.
func decodeAt[T any](text []byte, at span) (v T) {
	if jsonx.Unmarshal(at.slice(text), &v, budget.NewLedger(maxReceived), "a message") != nil {
		var zero T
		return zero
	}
	return v
}

// addMembers returns the edit that adds members, such as `"a":1,"b":2`, to an object.
func addMembers(text []byte, object span, more []byte) edit {
	at := object.from + 1
	if len(findMembers(text, object)) > 0 {
		more = append(slices.Clip(more), ',')
	}
	return edit{span{at, at}, more}
}

// encodeList returns a JSON list of values that are JSON already.
func encodeList(values [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
}

// element is an element of a list for the client: one of the received list, or an added one.
type element struct {
	text []byte
	at   int // index in the received list, or added
}

// added is the index of an element that the adapter does not have.
const added = -1

// receivedElements returns the elements of a received list.
func receivedElements(text []byte, list []span) []element {
	out := make([]element, len(list))
	for i, s := range list {
		out[i] = element{s.slice(text), i}
	}
	return out
}

// addition returns an element that is added.
func addition(v any) element { return element{encode(v), added} }

// replaceList returns the edit that replaces the elements of a list. The text between and around the received
// elements stays unchanged. Removing the additions, each with a comma, gives the received list.
func replaceList(text []byte, at span, list []span, shown []element) edit {
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

// formerPrefix is the prefix of the member that keeps the debugger's value of the member before it.
const formerPrefix = "ompd/"

// replaceValue returns the edit that changes the value of a member and keeps the former one.
func replaceValue(text []byte, at span, member string, value any) edit {
	return edit{at, slices.Concat(encode(value), []byte(`,"`+formerPrefix+member+`":`), at.slice(text))}
}

// newMember returns a member that is added to an object, with null as its former value.
func newMember(name string, value any) []byte {
	return fmt.Appendf(nil, `%q:%s,"%s%s":null`, name, encode(value), formerPrefix, name)
}

// encode returns a value as JSON. It must be encodable.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
