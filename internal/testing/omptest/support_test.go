package omptest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMergeSupport merges runs over all programs and over some.
func TestMergeSupport(t *testing.T) {
	lane, other := SupportPart{Runtime: "libomp", Build: "lane"}, SupportPart{Runtime: "libomp", Build: "other"}
	row := func(p SupportPart, date string, programs map[string]SupportCount) SupportRow {
		r := SupportRow{SupportPart: p, Date: date, Programs: programs}
		r.Sum()
		return r
	}
	whole := SupportRow{SupportPart: lane, SupportCount: SupportCount{9, 0}, Date: "01"}
	full := row(lane, "02", map[string]SupportCount{"a": {2, 0}, "b": {3, 1}, "c": {6, 0}})
	part := row(lane, "03", map[string]SupportCount{"b": {3, 0}})
	small := row(other, "03", map[string]SupportCount{"a": {1, 0}})
	for name, tt := range map[string]struct{ rows, want []SupportRow }{
		"all programs": {[]SupportRow{whole}, []SupportRow{whole}},
		"a newer one": {[]SupportRow{whole, {lane, SupportCount{4, 2}, "02", nil}},
			[]SupportRow{{lane, SupportCount{4, 2}, "02", nil}}},
		"few with names":     {[]SupportRow{whole, part}, []SupportRow{whole}},
		"as many with names": {[]SupportRow{whole, full}, []SupportRow{full}},
		"a part of the programs": {[]SupportRow{full, part, small}, []SupportRow{
			row(lane, "02", map[string]SupportCount{"a": {2, 0}, "c": {6, 0}}), part, small}},
		"an older part": {[]SupportRow{part, full}, []SupportRow{
			row(lane, "02", map[string]SupportCount{"a": {2, 0}, "c": {6, 0}}), part}},
	} {
		got := MergeSupport(tt.rows)
		slices.SortFunc(got, func(a, b SupportRow) int {
			return strings.Compare(a.Build+a.Date, b.Build+b.Date)
		})
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
