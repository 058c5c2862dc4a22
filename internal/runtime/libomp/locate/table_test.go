package locate

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// rowSource is a source on top of a release's row with changes.
type rowSource struct {
	row
	changed map[fieldName]layout.Field
	only    []fieldName // nil: all
}

func (s *rowSource) Name() string { return "row" }

func (s *rowSource) Field(typ, field string) (layout.Field, error) {
	n := fieldOf(typ, field)
	if f, ok := s.changed[n]; ok {
		return f, nil
	}
	if f := s.field(typ, field); f.IsKnown() && (s.only == nil || slices.Contains(s.only, n)) {
		return f, nil
	}
	return layout.Field{}, layout.ErrUnknown
}

func (s *rowSource) Type(typ string) (layout.Type, error) {
	f, err := s.Field(typ, "")
	return layout.Type{Size: f.Size}, err
}

func (s *rowSource) Global(string) (uint64, error) { return 0, layout.ErrUnknown }

// tableOf returns a table source for a target with the given evidence and costly sources.
func tableOf(arch callbacks.Arch, evidence, costly []layout.Source) *tableSource {
	return &tableSource{arch: arch, evidence: evidence, costly: costly,
		bounds: func() layout.Releases { return layout.Releases{} }}
}

// ompdOnly lists the names that a runtime describes itself.
func ompdOnly() []fieldName {
	var names []fieldName
	for _, w := range ompdWords() {
		names = append(names, fieldOf(w.typ, w.field))
	}
	return names
}

// TestTable checks a few integers of each release that come from elsewhere.
func TestTable(t *testing.T) {
	for release, want := range map[int]map[fieldName]uint64{
		14: {fieldOf("kmp_base_info_t", "th_current_task"): 440, fieldOf("kmp_base_info_t", "th_bar"): 512,
			fieldOf("kmp_base_task_team_t", "tt_threads_data"): 72, fieldOf("ompt_lw_taskteam_t", "parent"): 72},
		15: {fieldOf("kmp_base_info_t", "th_current_task"): 440, fieldOf("kmp_base_info_t", "th_bar"): 512,
			fieldOf("kmp_base_task_team_t", "tt_threads_data"): 144, fieldOf("ompt_lw_taskteam_t", "parent"): 88},
		16: {fieldOf("kmp_base_info_t", "th_current_task"): 504, fieldOf("kmp_base_info_t", "th_bar"): 576,
			fieldOf("kmp_bstate_t", "b_go"): 48, fieldOf("kmp_taskdata_t", "td_icvs.max_active_levels"): 84},
		19: {fieldOf("kmp_base_info_t", "th_current_task"): 576, fieldOf("kmp_base_info_t", "th_bar"): 640,
			fieldOf("kmp_bstate_t", "b_go"): 56, fieldOf("kmp_taskdata_t", "td_icvs.max_active_levels"): 88},
		22: {fieldOf("kmp_base_info_t", "th_current_task"): 576, fieldOf("kmp_base_team_t", "t_serialized"): 904,
			fieldOf("kmp_base_team_t", "t_id"): 920, fieldOf("kmp_base_info_t", "th_cg_roots"): 1488},
	} {
		r := rowOf(t, release)
		for n, offset := range want {
			if f := r.field(n.Type, n.Field); f.Offset != offset || !f.IsKnown() {
				t.Errorf("release %d: %v at %v, want %d", release, n, f, offset)
			}
		}
		if got := r.field("kmp_taskdata_t", "td_flags.tasktype"); got != (layout.Field{Offset: 4, Size: 4,
			Mask: 1 << 16}) {
			t.Errorf("release %d: tasktype is %v", release, got)
		}
	}
	if got, want := rowOf(t, 22).field("kmp_taskdata_t", "td_flags.hidden_helper"), uint64(1<<26); got.Mask != want {
		t.Errorf("hidden_helper of 22 is %v", got)
	}
}

// TestTableHasAllThatIsDeclared looks up every declared name in the newest row, and in the oldest except for the
// optional names.
func TestTableHasAllThatIsDeclared(t *testing.T) {
	for _, release := range []int{14, 15, 16, 17, 18, 19, 21, 22, 23} {
		var l Layout
		rep, err := layout.Resolve(&l, &rowSource{row: rowOf(t, release)})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, e := range rep.Entries {
			if e.Type == "" {
				continue
			}
			found++
			if e.Err != nil && (!e.Optional || release >= 22) {
				t.Errorf("release %d: %v", release, e.Err)
			}
		}
		own, _ := rtl.OwnLockOf("__kmp_acquire_ticket_lock")
		if l.Ticket.NextTicket.Offset != own.NextTicket || l.Ticket.NowServing.Offset != own.NowServing {
			t.Errorf("release %d: tickets at %v and %v, want %+v", release, l.Ticket.NextTicket, l.Ticket.NowServing,
				own)
		}
		if found < 280 {
			t.Errorf("release %d: %d names are declared", release, found)
		}
	}
}

// TestFingerprint selects rows by the runtime's own description.
func TestFingerprint(t *testing.T) {
	for release, want := range map[int]string{14: "table 14", 15: "table 15", 16: "table 16", 19: "table 19/21/22/23",
		22: "table 19/21/22/23"} {
		r := rowOf(t, release)
		s := tableOf(callbacks.ArchX86_64, []layout.Source{&rowSource{row: r, only: ompdOnly()}}, nil)
		if s.Name() != want {
			t.Errorf("release %d: source %q, want %q", release, s.Name(), want)
		}
		answered := 0
		for _, n := range r.t.Order {
			got, err := layout.Ask(s, n)
			if err == nil {
				answered++
			}
			if want := r.field(n.Type, n.Field); err == nil && got != want {
				t.Errorf("release %d: %v at %v, want %v", release, n, got, want)
			}
		}
		if answered < 300 {
			t.Errorf("release %d: %d answers", release, answered)
		}
	}
}

// TestFingerprintOfTwoReleases checks that names on which the releases disagree stay unknown.
func TestFingerprintOfTwoReleases(t *testing.T) {
	s := tableOf(callbacks.ArchX86_64, []layout.Source{&rowSource{row: rowOf(t, 22), only: ompdOnly()}}, nil)
	if f, err := s.Field("kmp_taskdata_t", "td_flags.hidden_helper"); !errors.Is(err, layout.ErrUnknown) ||
		!strings.Contains(err.Error(), "19 and 21 and 22 and 23 differ") {
		t.Errorf("hidden_helper is %v, %v", f, err)
	}
	if f, err := s.Field("kmp_taskdata_t", "td_flags.target"); err != nil || f.Mask != 1<<25 {
		t.Errorf("target is %v, %v", f, err)
	}
	// The accessors' few fields do not distinguish 14 from 15.
	few := []fieldName{fieldOf("kmp_base_info_t", "th_team"), fieldOf("kmp_base_info_t", "th_current_task"),
		fieldOf("kmp_base_team_t", "t_level"), fieldOf("kmp_taskdata_t", "td_icvs.nproc")}
	s = tableOf(callbacks.ArchX86_64, nil, []layout.Source{&rowSource{row: rowOf(t, 14), only: few}})
	if s.Name() != "table 14/15" {
		t.Errorf("source %q", s.Name())
	}
	if f, err := s.Field("kmp_base_task_team_t", "tt_nproc"); err == nil {
		t.Errorf("tt_nproc is %v although 14 and 15 differ", f)
	}
}

// TestFingerprintOfUnknownRelease changes one value: no row matches. Places with the same distance in all
// releases are derived from it, the others stay unknown.
func TestFingerprintOfUnknownRelease(t *testing.T) {
	r := rowOf(t, 16)
	n := fieldOf("kmp_base_info_t", "th_current_task")
	moved := r.field(n.Type, n.Field)
	moved.Offset += 24
	s := tableOf(callbacks.ArchX86_64, []layout.Source{&rowSource{row: r, only: ompdOnly(),
		changed: map[fieldName]layout.Field{n: moved}}}, nil)
	if s.Name() != "table near 9/11/13/14/15/16/17/18/19/21/22/23" {
		t.Errorf("source %q", s.Name())
	}
	for field, want := range map[string]layout.Field{
		"th_task_team":           {Offset: moved.Offset - 8, Size: 8}, // always before th_current_task
		"th_info.ds.ds_gtid":     {Offset: 36, Size: 4},               // the same in all
		"ompt_thread_info.state": {Offset: 416, Size: 4},              // in a structure at the same place as in 16
		"th_hot_teams":           {Offset: 264, Size: 8},              // before that, as in 16
		"th_reap_state":          {},                                  // after the moved field, at two distances
	} {
		got, err := s.Field("kmp_base_info_t", field)
		if got != want || (err == nil) != want.IsKnown() {
			t.Errorf("%s is %v, %v; want %v", field, got, err, want)
		}
	}
}

// TestNeighbours uses only the releases around the target's.
func TestNeighbours(t *testing.T) {
	r := rowOf(t, 16)
	n := fieldOf("kmp_base_info_t", "th_current_task")
	moved := r.field(n.Type, n.Field)
	moved.Offset += 24
	const all = "9/11/13/14/15/16/17/18/19/21/22/23"
	for bounds, want := range map[[2]int]string{{16, 17}: "16/17/18", {19, 20}: "19/21", {0, 8}: all, {24, 0}: all,
		{15, 15}: "15/16"} {
		s := tableOf(callbacks.ArchX86_64,
			[]layout.Source{&rowSource{row: r, only: ompdOnly(), changed: map[fieldName]layout.Field{n: moved}}}, nil)
		s.bounds = func() layout.Releases { return layout.Releases{Low: bounds[0], High: bounds[1]} }
		if s.Name() != "table near "+want {
			t.Errorf("bounds %v: %q, want %s", bounds, s.Name(), want)
		}
		f, err := s.Field("kmp_base_task_team_t", "tt_nproc") // moved between 14 and 15
		if (err == nil) != (bounds[0] >= 15 && bounds[1] != 0) {
			t.Errorf("bounds %v: tt_nproc is %v, %v", bounds, f, err)
		}
		s.confirm = func(fieldName, layout.Field) bool { return false }
		if f, err := s.Field("kmp_base_team_t", "t_id"); err == nil || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("bounds %v: against the memory, t_id is %v, %v", bounds, f, err)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	all := &rowSource{row: rowOf(t, 16)}
	for name, s := range map[string]*tableSource{
		"another architecture": tableOf(callbacks.ArchUnknown, []layout.Source{all}, nil),
		"no evidence":          tableOf(callbacks.ArchX86_64, nil, nil),
		"too little evidence": tableOf(callbacks.ArchX86_64,
			[]layout.Source{&rowSource{row: all.row, only: ompdOnly()[:2]}}, nil),
	} {
		if f, err := s.Field("kmp_base_team_t", "t_id"); !errors.Is(err, layout.ErrUnknown) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestTableOnCores uses the table alone on real cores.
func TestTableOnCores(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		c, mod := coreOf(t, "nested", rt)
		loc, err := Locate(c, mod, layout.Options{Only: []string{"table"}})
		if err != nil {
			t.Fatal(err)
		}
		r := rowOf(t, rt.Major)
		given := 0
		for _, e := range loc.Report.All() {
			if e.Err != nil || e.Type == "" {
				continue
			}
			given++
			if want := r.field(e.Type, e.Name); !reflect.DeepEqual(e.Field, want) {
				t.Errorf("%s: %s at %v, want %v", rt.Name, e, e.Field, want)
			}
			if !strings.HasPrefix(e.Source, "table ") {
				t.Errorf("%s: %s is from %q", rt.Name, e, e.Source)
			}
		}
		if given < 270 {
			t.Errorf("%s: the table gave %d names", rt.Name, given)
		}
	}
}

// TestTableOfAArch64 compares the table with the layouts that the code of Debian's runtimes for aarch64 writes into
// their OMPD descriptions.
func TestTableOfAArch64(t *testing.T) {
	for major, path := range omptest.CrossLibomps(t) {
		target, mod := loadFile(t, path)
		own := newMemorySource(target, mod)
		own.scanned, own.globals = true, map[string]callbacks.Address{} // there is no memory besides the file
		if err := own.describedByCode(); err != nil {
			t.Errorf("libomp %d: %v", major, err)
			continue
		}
		r := rowIn(t, callbacks.ArchAArch64, major)
		compared := 0
		for _, n := range r.t.Order {
			got, err := layout.Ask(own, n)
			if err != nil {
				continue
			}
			compared++
			if want := r.field(n.Type, n.Field); n != threadSize && got != want {
				t.Errorf("libomp %d: %v at %v, want %v", major, n, got, want)
			}
		}
		if compared < knownNames/2 {
			t.Errorf("libomp %d: %d places compared", major, compared)
		}
	}
}
