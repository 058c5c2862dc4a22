package job

import (
	"strconv"
	"strings"
)

// numbers is a list of integers with a text as its JSON form: "7,-1,12". Decoding a list by reflection takes
// ten times as long.
type numbers []int

// MarshalText implements encoding.TextMarshaler.
func (n numbers) MarshalText() ([]byte, error) {
	var b []byte
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return b, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *numbers) UnmarshalText(text []byte) error {
	*n = nil
	if len(text) == 0 {
		return nil
	}
	*n = make(numbers, 0, 1+strings.Count(string(text), ","))
	for piece := range strings.SplitSeq(string(text), ",") {
		v, err := strconv.Atoi(piece)
		if err != nil {
			return err
		}
		*n = append(*n, v)
	}
	return nil
}

// tags is a list of numbers that may be missing: "3,-,4".
type tags []*int

// none is the text of a missing number.
const none = "-"

// MarshalText implements encoding.TextMarshaler.
func (t tags) MarshalText() ([]byte, error) {
	var list []string
	for _, v := range t {
		if v == nil {
			list = append(list, none)
			continue
		}
		list = append(list, strconv.Itoa(*v))
	}
	return []byte(strings.Join(list, ",")), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *tags) UnmarshalText(text []byte) error {
	*t = nil
	if len(text) == 0 {
		return nil
	}
	for piece := range strings.SplitSeq(string(text), ",") {
		if piece == none {
			*t = append(*t, nil)
			continue
		}
		v, err := strconv.Atoi(piece)
		if err != nil {
			return err
		}
		*t = append(*t, &v)
	}
	return nil
}
