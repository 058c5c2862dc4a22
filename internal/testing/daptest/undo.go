package daptest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Undone removes a proxy's additions from a message: elements of lists with numbers greater than above, or with
// the proxy's prefix in their names, and values that replaced a former one, which follows them. The result is the
// adapter's own message, byte for byte, except for omitted elements. It is nil if the text is not JSON.
func Undone(shown []byte, above int) []byte {
	u := undoing{text: shown, above: above}
	u.space()
	if !u.value() {
		return nil
	}
	return append(u.out, u.text[u.at:]...)
}

// undoing is a message during the removal.
type undoing struct {
	text  []byte
	at    int
	out   []byte
	above int
}

// take copies the next bytes.
func (u *undoing) take(n int) {
	u.out = append(u.out, u.text[u.at:u.at+n]...)
	u.at += n
}

// space copies the space between values.
func (u *undoing) space() {
	for u.at < len(u.text) && strings.IndexByte(" \t\r\n", u.text[u.at]) >= 0 {
		u.take(1)
	}
}

// next returns the next byte, 0 at the end.
func (u *undoing) next() byte {
	if u.at == len(u.text) {
		return 0
	}
	return u.text[u.at]
}

// value copies a value.
func (u *undoing) value() bool {
	switch u.next() {
	case '{':
		return u.object()
	case '[':
		return u.list()
	}
	d := json.NewDecoder(bytes.NewReader(u.text[u.at:]))
	var v json.RawMessage
	if d.Decode(&v) != nil {
		return false
	}
	u.take(int(d.InputOffset()))
	return true
}

// object copies an object; a member that starts with the prefix is the former value of the previous one, and null
// means that the member is new.
func (u *undoing) object() bool {
	u.take(1)
	begins, value := -1, -1 // of the member before
	for u.space(); u.next() != '}'; u.space() {
		from := len(u.out)
		if u.next() == ',' {
			u.take(1)
			u.space()
		}
		name := len(u.out)
		if !u.value() {
			return false
		}
		former := value >= 0 && bytes.HasPrefix(u.out[name:], []byte(`"ompd/`))
		u.space()
		u.take(1) // the colon
		u.space()
		here := len(u.out)
		if !u.value() {
			return false
		}
		switch {
		case !former:
			begins, value = from, here
			if u.out[from] == ',' {
				begins = name
			}
		case string(u.out[here:]) == "null":
			u.out = u.out[:begins]
			if u.next() == ',' {
				u.at++
			}
		default:
			u.out = append(u.out[:value], slices.Clone(u.out[here:])...)
		}
	}
	u.take(1)
	return true
}

// list copies a list without the added elements and their commas.
func (u *undoing) list() bool {
	u.take(1)
	kept := false
	for u.space(); u.next() != ']'; u.space() {
		from := len(u.out)
		if u.next() == ',' {
			u.take(1)
			u.space()
		}
		here := len(u.out)
		if !u.value() {
			return false
		}
		if !ours(u.out[here:], u.above) {
			kept = true
			continue
		}
		u.out = u.out[:from]
		if u.next() == ',' && !kept {
			u.at++
		}
	}
	u.take(1)
	return true
}

// ours reports whether an element of a list is the proxy's.
func ours(element []byte, above int) bool {
	var e struct {
		ID, VariablesReference int
		Filter                 string
	}
	return json.Unmarshal(element, &e) == nil &&
		(max(e.ID, e.VariablesReference) > above || strings.HasPrefix(e.Filter, "ompd/"))
}
