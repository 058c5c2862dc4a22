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

func TestReplace(t *testing.T) {
	r, err := ParseRows("releases 14 15 16\nteam 96\n argc 8:8\n bits 16:4 - 24:4\n")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := ParseRows("releases 15 16\nteam 88\n bits - 16:4\n")
	if err != nil {
		t.Fatal(err)
	}
	got := r.Replace(changed)
	team := FieldName{Type: "team"}
	bits := FieldName{Type: "team", Field: "bits"}
	if len(got.Releases) != 2 || got.Places[team].FieldOf(1).Size != 88 ||
		got.Places[FieldName{Type: "team", Field: "argc"}].FieldOf(0) != (Field{Offset: 8, Size: 8}) ||
		got.Places[bits].FieldOf(0).IsKnown() || got.Places[bits].FieldOf(1) != (Field{Offset: 16, Size: 4}) {
		t.Errorf("%+v", got)
	}
	if all := r.Replace(&Rows{Releases: r.Releases, Places: map[FieldName]Places{team: {{Size: 8}}}}); len(
		all.Releases) != 3 || all.Places[team][0].Size != 8 || r.Places[team][0].Size != 96 {
		t.Errorf("%+v, and the original %+v", all, r)
	}
}
