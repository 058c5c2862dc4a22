package layout

import "testing"

func TestParseRows(t *testing.T) {
	r, err := ParseRows("# a comment\nreleases 14 15\nkmp 96 104\n th_team 8:8\n th_bits 16:4&0x10 -\n")
	if err != nil || len(r.Releases) != 2 || len(r.Order) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, want := range map[FieldName][2]Field{
		{Type: "kmp"}:                   {{Size: 96}, {Size: 104}},
		{Type: "kmp", Field: "th_team"}: {{Offset: 8, Size: 8}, {Offset: 8, Size: 8}},
		{Type: "kmp", Field: "th_bits"}: {{Offset: 16, Size: 4, Mask: 0x10}, {}},
	} {
		for row, f := range want {
			if got := r.Places[name].FieldOf(row); got != f {
				t.Errorf("%v in row %d: %+v, want %+v", name, row, got, f)
			}
		}
	}
	if known := map[FieldName]Field{{Type: "kmp"}: {Size: 104}}; r.Fits(0, known) || !r.Fits(1, known) {
		t.Error("a size of 104 is that of row 1 alone")
	}
	if r.Fits(0, map[FieldName]Field{{Type: "gone"}: {Size: 1}}) {
		t.Error("what the table does not have fits")
	}
	for _, bad := range []string{"kmp 1", "releases 1\n f 0:8", "releases 1 2\nt 1 2 3", "releases 1\nt x",
		"releases 1\nt 4\n f 1:2&z", "releases 1\nt 99999"} {
		if got, err := ParseRows(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}
