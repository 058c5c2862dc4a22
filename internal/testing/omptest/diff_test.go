package omptest

import (
	"slices"
	"testing"
)

func TestDiffJSON(t *testing.T) {
	for _, c := range []struct {
		want, got string
		diffs     []string
	}{
		{`{"a":[1,2],"b":"x"}`, `{"b":"x","a":[1,2]}`, nil},
		{`{"a":[1,2]}`, `{"a":[1,3,4]}`, []string{`.a[1]: 3, want 2`, `.a[2]: 4, want "(nothing)"`}},
		{`{"a":{"b":null}}`, `{"c":1,"a":{}}`, []string{`.a.b: "(nothing)", want null`, `.c: 1, want "(nothing)"`}},
		{`18446744073709551615`, `18446744073709551614`, []string{`: 18446744073709551614, want 18446744073709551615`}},
		{`{"a":[]}`, `{"a":{}}`, []string{`.a: {}, want []`}},
	} {
		if diffs := DiffJSON(t, []byte(c.want), []byte(c.got)); !slices.Equal(diffs, c.diffs) {
			t.Errorf("%s and %s differ in %q, want %q", c.want, c.got, diffs, c.diffs)
		}
	}
}
