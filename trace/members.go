package trace

import "slices"

// Member is the number of a thread in its team. Size is 0 if it is unknown.
type Member struct{ Num, Size uint32 }

// Members has the numbers that threads had in their teams in the course of a recording.
type Members struct{ changes map[uint32][]memberChange } // by LWP, in the order of their times

// memberChange is a time from which on a thread has a number.
type memberChange struct {
	time uint64
	Member
}

// maxNested bounds the nested teams of one thread that are followed.
const maxNested = 64

// Members finds the numbers of threads by the starts and ends of implicit tasks. The number of a thread whose start was
// overwritten is unknown until the next one.
func (r *Recording) Members() *Members {
	m := &Members{map[uint32][]memberChange{}}
	for _, t := range r.Threads {
		open := map[uint32][]Member{}
		for e := range t.Events(0) {
			if e.Code != ImplicitTask || e.Kind&initialTask != 0 || e.Endpoint != Begin && e.Endpoint != End {
				continue
			}
			lwp := t.LWPOf(e)
			list := open[lwp]
			if e.Endpoint == Begin && len(list) < maxNested {
				list = append(list, Member{uint32(e.Count()), e.Value})
			} else if len(list) > 0 {
				list = list[:len(list)-1]
			}
			open[lwp] = list
			change := memberChange{time: e.Time}
			if e.Endpoint == End { // the end itself is of the member
				change.time++
			}
			if n := len(list); n > 0 {
				change.Member = list[n-1]
			}
			m.changes[lwp] = append(m.changes[lwp], change)
		}
	}
	for _, list := range m.changes {
		slices.SortStableFunc(list, func(a, b memberChange) int {
			if a.time < b.time {
				return -1
			}
			return 1
		})
	}
	return m
}

// initialTask is ompt_task_initial, a flag of an implicit task.
const initialTask = 1

// At returns the number of a thread at a time. Its size is 0 if it is unknown.
func (m *Members) At(lwp uint32, time uint64) Member {
	list := m.changes[lwp]
	i, _ := slices.BinarySearchFunc(list, time+1, func(c memberChange, time uint64) int {
		if c.time < time {
			return -1
		}
		return 1
	})
	if i == 0 {
		return Member{}
	}
	return list[i-1].Member
}
