package locate

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// judge checks places against the runtime's live data. It has an invariant for a few names that the others
// depend on.
type judge struct {
	target  callbacks.Target
	sources []layout.Source
	memory  *memorySource
	table   *tableSource
}

// decide implements layout.Resolver's Judge: it returns the only candidate that the memory confirms, if there is
// exactly one.
func (j *judge) decide(candidates []layout.Entry) int {
	winner := -1
	for i, c := range candidates {
		if confirmed, ok := j.confirms(c); !ok || !confirmed {
			continue
		}
		if winner >= 0 {
			return -1
		}
		winner = i
	}
	return winner
}

// allows reports whether the memory does not contradict a place.
func (j *judge) allows(n fieldName, f layout.Field) bool {
	confirmed, ok := j.confirms(layout.Entry{Type: n.Type, Name: n.Field, Field: f})
	return confirmed || !ok
}

// confirms tests one place; ok reports whether there is an invariant for it.
func (j *judge) confirms(c layout.Entry) (confirmed, ok bool) {
	if c.Type == "" && c.Name == "__kmp_threads" {
		_, err := j.memory.confirm(callbacks.Addr(c.Global).Add(uint64(-poolRelation()[c.Name])))
		return err == nil, true
	}
	test := j.invariant(c)
	if test == nil {
		return false, false
	}
	return j.everyThread(test), true
}

// invariant returns a condition that holds for every thread if a field is at c.
func (j *judge) invariant(c layout.Entry) func(info callbacks.Address) bool {
	tid, team := j.field("kmp_base_info_t", "th_info.ds.ds_tid"), j.field("kmp_base_info_t", "th_team")
	members := j.field("kmp_base_team_t", "t_threads")
	switch c.Type + "." + c.Name {
	case "kmp_base_info_t.th_info.ds.ds_gtid":
		return func(callbacks.Address) bool { return c.Field == j.memory.gtidField() } // which was confirmed
	case "kmp_base_info_t.th_info.ds.ds_tid":
		return func(info callbacks.Address) bool { return j.member(info, team, members, c.Field) }
	case "kmp_base_info_t.th_team":
		return func(info callbacks.Address) bool { return j.member(info, c.Field, members, tid) }
	case "kmp_base_team_t.t_threads":
		return func(info callbacks.Address) bool { return j.member(info, team, c.Field, tid) }
	case "kmp_base_info_t.th_serial_team":
		return func(info callbacks.Address) bool { return j.member(info, c.Field, members, layout.Field{}) }
	case "kmp_base_info_t.th_current_task":
		return func(info callbacks.Address) bool { return j.taskOf(info, c.Field, team) }
	case "kmp_base_info_t.th_task_team":
		return func(info callbacks.Address) bool { return j.taskTeamOf(info, c.Field, team) }
	case "kmp_base_info_t.th_next_pool", "kmp_base_info_t.th_team_master":
		return func(info callbacks.Address) bool { return j.isThread(j.pointer(info, c.Field)) }
	case "kmp_base_info_t.th_cg_roots":
		return func(info callbacks.Address) bool {
			group := j.pointer(info, c.Field)
			return group.IsNull() || j.isThread(j.pointer(group, layout.Field{Size: 8}))
		}
	}
	return nil
}

// shaped returns the rows near the target for which its memory contains structures of a type; all rows if its
// memory does not distinguish them.
func (j *judge) shaped(fp *fingerprint, typ string) []int {
	if typ != "kmp_base_task_team_t" && typ != "kmp_task_pri_t" { // the second came with a field of the first
		return fp.rows
	}
	var fit []int
	for _, row := range fp.rows {
		if j.everyThread(j.taskTeams(fp, row)) && j.anyThread(j.hasTaskTeam) {
			fit = append(fit, row)
		}
	}
	if len(fit) == 0 {
		return fp.rows
	}
	return fit
}

// holds reports whether the memory has threads where a row has them, each a member of its team and with a task
// of the team.
func (j *judge) holds(fp *fingerprint, row int) bool {
	in := func(typ, field string) layout.Field { return fp.fieldIn(fieldOf(typ, field), row) }
	team, tid := in("kmp_base_info_t", "th_team"), in("kmp_base_info_t", "th_info.ds.ds_tid")
	members, task := in("kmp_base_team_t", "t_threads"), in("kmp_base_info_t", "th_current_task")
	of := in("kmp_taskdata_t", "td_team")
	return j.everyThread(func(info callbacks.Address) bool {
		home := j.pointer(info, team)
		return j.member(info, team, members, tid) && (home.IsNull() || j.pointer(j.pointer(info, task), of) == home)
	})
}

// hasTaskTeam reports whether a thread has a task team.
func (j *judge) hasTaskTeam(info callbacks.Address) bool {
	a := j.pointer(info, j.field("kmp_base_info_t", "th_task_team"))
	return !a.IsNull() && a != unreadable
}

// taskTeams returns a test of a thread's task team (if it has one) by a row: its number of threads is the
// team's, and the array that it points to has threads.
func (j *judge) taskTeams(fp *fingerprint, row int) func(info callbacks.Address) bool {
	in := func(typ, field string) layout.Field { return fp.fieldIn(fieldOf(typ, field), row) }
	nproc, data := in("kmp_base_task_team_t", "tt_nproc"), in("kmp_base_task_team_t", "tt_threads_data")
	element, thread := in("kmp_base_thread_data_t", ""), in("kmp_base_thread_data_t", "td_thr")
	return func(info callbacks.Address) bool {
		if !j.hasTaskTeam(info) {
			return true
		}
		at := j.pointer(info, j.field("kmp_base_info_t", "th_task_team"))
		team := j.pointer(info, j.field("kmp_base_info_t", "th_team"))
		size := j.field("kmp_base_team_t", "t_nproc")
		r, of := layout.Read(j.target, at, nproc), layout.Read(j.target, team, size)
		n, want := r.Uint(nproc), of.Uint(size)
		if r.Err() != nil || of.Err() != nil || n != want || n > maxThreads {
			return false
		}
		array := j.pointer(at, data)
		for i := uint64(0); !array.IsNull() && i < min(n, checkedThreads); i++ {
			if !j.isThread(j.pointer(array.Add(i*element.Size), thread)) {
				return false
			}
		}
		return true
	}
}

// unreadable stands for a pointer that cannot be read.
var unreadable = callbacks.Addr(1)

// pointer reads a field; it returns unreadable on an error.
func (j *judge) pointer(at callbacks.Address, f layout.Field) callbacks.Address {
	r := layout.Read(j.target, at, f)
	if a := r.Address(f); r.Err() == nil {
		return a
	}
	return unreadable
}

// isThread reports whether a is null or one of the checked threads.
func (j *judge) isThread(a callbacks.Address) bool {
	j.memory.scan()
	return a.IsNull() || slices.Contains(j.memory.live, a) || len(j.memory.live) == checkedThreads && a != unreadable
}

// member reports whether a thread's team has the thread as its member. An unknown
// number in the team counts as 0.
func (j *judge) member(info callbacks.Address, team, members, tid layout.Field) bool {
	home := j.pointer(info, team)
	if home.IsNull() {
		return true
	}
	n := uint64(0)
	if tid.IsKnown() {
		r := layout.Read(j.target, info, tid)
		n = r.Uint(tid)
	}
	return j.pointer(j.pointer(home, members), layout.Field{Offset: n % maxThreads * 8, Size: 8}) == info
}

// taskOf reports whether a thread's current task belongs to its team.
func (j *judge) taskOf(info callbacks.Address, task, team layout.Field) bool {
	home := j.pointer(info, team)
	return home.IsNull() || j.pointer(j.pointer(info, task), j.field("kmp_taskdata_t", "td_team")) == home
}

// taskTeamOf reports whether a thread's task team is one of its team's two.
func (j *judge) taskTeamOf(info callbacks.Address, taskTeam, team layout.Field) bool {
	home, mine := j.pointer(info, team), j.pointer(info, taskTeam)
	if home.IsNull() || mine.IsNull() {
		return true
	}
	const pair = 424 // t_task_team, in all releases so far
	return mine == j.pointer(home, layout.Field{Offset: pair, Size: 8}) ||
		mine == j.pointer(home, layout.Field{Offset: pair + 8, Size: 8})
}

// field returns the place from the most trusted source, or else from the releases in the table.
func (j *judge) field(typ, field string) layout.Field {
	for _, s := range j.sources {
		if f, err := s.Field(typ, field); err == nil {
			return f
		}
	}
	return j.table.unjudged(fieldOf(typ, field))
}

// everyThread reports whether the first threads of __kmp_threads all pass a test. Without any thread, it is
// false.
func (j *judge) everyThread(test func(info callbacks.Address) bool) bool {
	j.memory.scan()
	for _, info := range j.memory.live {
		if !test(info) {
			return false
		}
	}
	return len(j.memory.live) > 0
}

// anyThread reports whether one of the first threads passes a test.
func (j *judge) anyThread(test func(info callbacks.Address) bool) bool {
	j.memory.scan()
	return slices.ContainsFunc(j.memory.live, test)
}
