package libomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
)

// judge settles conflicts between layout sources by invariants of the runtime's
// live data. It knows one for each of a few names on which the rest hangs.
type judge struct {
	target  callbacks.Target
	sources []layout.Source
	memory  *memorySource
}

// decide is layout.Resolver's Judge: the only candidate that the memory
// confirms, if there is just one.
func (j *judge) decide(candidates []layout.Entry) int {
	winner := -1
	for i, c := range candidates {
		if !j.confirms(c) {
			continue
		}
		if winner >= 0 {
			return -1
		}
		winner = i
	}
	return winner
}

// confirms tests one candidate. A name without an invariant is not confirmed.
func (j *judge) confirms(c layout.Entry) bool {
	const threads = "__kmp_threads"
	if c.Type == "" && c.Name == threads {
		return j.memory.confirm(callbacks.At(c.Global).Add(uint64(-poolRelation()[threads]))) == nil
	}
	tid, team, members := j.field("kmp_base_info_t", "th_info.ds.ds_tid"), j.field("kmp_base_info_t", "th_team"), j.field("kmp_base_team_t", "t_threads")
	switch c.Type + "." + c.Name {
	case "kmp_base_info_t.th_info.ds.ds_tid":
		tid = c.Field
	case "kmp_base_info_t.th_team":
		team = c.Field
	case "kmp_base_team_t.t_threads":
		members = c.Field
	case "kmp_base_info_t.th_current_task":
		return j.everyThread(func(info callbacks.Address) bool { return j.taskOf(info, c.Field, team) })
	default:
		return false
	}
	return j.everyThread(func(info callbacks.Address) bool {
		r := layout.Read(j.target, info, tid, team)
		if r.Address(team).IsNull() {
			return r.Err() == nil
		}
		list, err := layout.ReadUint(j.target, r.Address(team).Add(members.Offset), 8)
		if err != nil || r.Err() != nil {
			return false
		}
		self, err := layout.ReadUint(j.target, callbacks.At(list).Add(8*r.Uint(tid)), 8)
		return err == nil && self == info.Offset
	})
}

// taskOf tells whether a thread's current task belongs to its team.
func (j *judge) taskOf(info callbacks.Address, task, team layout.Field) bool {
	r := layout.Read(j.target, info, task, team)
	if r.Address(team).IsNull() {
		return r.Err() == nil
	}
	home := j.field("kmp_taskdata_t", "td_team")
	data := layout.Read(j.target, r.Address(task), home)
	return data.Address(home) == r.Address(team) && data.Err() == nil && r.Err() == nil
}

// field is what the most trusted source says.
func (j *judge) field(typ, field string) layout.Field {
	for _, s := range j.sources {
		if f, err := s.Field(typ, field); err == nil {
			return f
		}
	}
	return layout.Field{}
}

// everyThread tests the first threads of __kmp_threads. With no thread, nothing
// is confirmed.
func (j *judge) everyThread(test func(info callbacks.Address) bool) bool {
	j.memory.scan()
	at, ok := j.memory.globals["__kmp_threads"]
	if !ok {
		return false
	}
	list, err := layout.ReadUint(j.target, at, 8)
	if err != nil {
		return false
	}
	tested := 0
	for i := range uint64(checkedThreads) {
		info, err := layout.ReadUint(j.target, callbacks.At(list).Add(8*i), 8)
		if err != nil {
			break
		}
		if info == 0 {
			continue
		}
		if tested++; !test(callbacks.At(info)) {
			return false
		}
	}
	return tested > 0
}
