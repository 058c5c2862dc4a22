package daptest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Undone is a message of a proxy without what the proxy has added: elements of lists whose numbers are above one, or
// whose names begin with the proxy's prefix, and members before which the former value stands. What is left is the
// adapter's own message, byte for byte, but for elements that were left out. nil says that the text is no JSON.
func Undone(shown []byte, above int) []byte {
	u := undoing{text: shown, above: above}
	u.space()
	if !u.value() {
		return nil
	}
	return append(u.out, u.text[u.at:]...)
}

// undoing is a text on its way to be what it was.
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

// space copies what stands between values.
func (u *undoing) space() {
	for u.at < len(u.text) && strings.IndexByte(" \t\r\n", u.text[u.at]) >= 0 {
		u.take(1)
	}
}

// next is the next byte, 0 at the end.
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

// object copies an object; a member that begins with the prefix is the former value of the one before it, and null is
// that of a member that was not there.
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

// list copies a list without the elements that are added, and a comma of each.
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
