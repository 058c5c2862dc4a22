package phrase

import "testing"

func TestSome(t *testing.T) {
	for _, c := range []struct {
		words         []string
		most, total   int
		list, clauses string
	}{
		{nil, 4, 0, "", ""},
		{[]string{"a"}, 4, 1, "a", "a"},
		{[]string{"a", "b"}, 2, 2, "a, b", "a; b"},
		{[]string{"a", "b", "c"}, 2, 3, "a, b and 1 more", "a; b; and 1 more"},
		{[]string{"a", "b"}, 4, 9, "a, b and 7 more", "a; b; and 7 more"},
	} {
		if got := Some(c.words, c.most, c.total); got != c.list {
			t.Errorf("%q, want %q", got, c.list)
		}
		if got := Clauses(c.words, c.most, c.total); got != c.clauses {
			t.Errorf("%q, want %q", got, c.clauses)
		}
	}
}
