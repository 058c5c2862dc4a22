package text

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ordered requires texts in this order.
func ordered(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, w := range texts {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("no %q, in this order, in\n%s", w, page)
		}
		rest = after
	}
}

// TestICVsOrder requires the values in force first, in the form of OMP_DISPLAY_ENV, and the unread variables last.
func TestICVsOrder(t *testing.T) {
	var b strings.Builder
	ICVs(New(&b, false, NoLimit), &picture.Picture{
		Runtimes:    []picture.Runtime{{ID: "libomp", OMPVersion: 201811}},
		ControlVars: []picture.ControlVar{{Name: "OMP_DYNAMIC", Value: "false", Source: "td_icvs.dynamic"}},
		ICVs: []picture.ICV{
			{Runtime: "libomp", Name: "debug-var", Scope: "global", Error: "no layout source knows it"},
			{Runtime: "libomp", Name: "dyn-var", Scope: "task", Task: "0x10/0", Value: "false"},
		},
	})
	ordered(t, b.String(), "CONTROL VARIABLES", "_OPENMP='201811'\n", "OMP_DYNAMIC='FALSE'  td_icvs.dynamic\n",
		"TASK", "dyn-var", "NOT READ", "debug-var")
}

// TestLayoutOrder requires the sums of a runtime's layout first, then the fields on which sources disagree, the known
// fields, and those that no source knows.
func TestLayoutOrder(t *testing.T) {
	offset := uint64(8)
	var b strings.Builder
	Layout(New(&b, false, NoLimit), &picture.Picture{
		Runtimes: []picture.Runtime{{ID: "libomp", Name: "LLVM OpenMP runtime", Version: "16",
			Layout: "1 from memory"}},
		Layout: []picture.LayoutEntry{
			{Runtime: "libomp", Type: "team", Name: "a", Error: "layout of team.a: no layout source knows it"},
			{Runtime: "libomp", Type: "team", Name: "b", Offset: &offset, Size: 4, Source: "memory"},
			{Runtime: "libomp", Type: "team", Name: "c", Claims: []picture.Claim{{Source: "code", Value: "1"},
				{Source: "table", Value: "2"}}},
			{Runtime: "libomp", Type: "team", Name: "d", Error: "layout of team.d: no layout source knows it"},
		},
	})
	ordered(t, b.String(), "LAYOUT  LLVM OpenMP runtime 16: 1 from memory\n", "team.c",
		"refused: code says 1, table says 2", "team.b", "8", "memory\n",
		"absent 2 fields (no layout source knows it): team.a, team.d\n")
}

// TestRegionErrors requires one line for errors of several members.
func TestRegionErrors(t *testing.T) {
	errs := []string{"thread 1 of region 0x7/1 is not there", "no name", "thread 2 of region 0x7/1 is not there",
		"thread 12 of region 0x7/1 is not there"}
	got := regionTree{Printer: New(nil, false, NoLimit)}.foldErrors(errs)
	want := "thread 1 of region 0x7/1 is not there (and 2 more threads like it); no name"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}
