package libomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// A primary thread that forks or joins a team changes its own fields one after the other: first its number
// (ds_tid), later its team (th_team). It may wait for a lock of the runtime in between. So ds_tid may be the
// number in the enclosing team, or th_team may be a team with a finished region.

// fixTransition corrects the team and the number of a thread that is between two teams.
func (ths *threads) fixTransition(th *thread) {
	t, err := ths.readTeam(th.team)
	if err != nil {
		return // later users of the team return the error
	}
	n, placed := ths.placeOf(t, th)
	if placed {
		th.tid = n
	}
	if th.tid == 0 && !th.inTeams() && (ths.tornDown(t) || !placed && t.level > 0) && !t.parent.IsNull() {
		th.team, th.tid = t.parent, t.masterTid
	}
}

// placeOf returns the index of th in t_threads; false while the array of a new team is empty.
func (ths *threads) placeOf(t *team, th *thread) (n int, ok bool) {
	if th.tid >= 0 && th.tid < t.nproc {
		p, err := layout.ReadUint(ths.mem, t.threads.Add(uint64(th.tid)*8), 8)
		if err != nil || p == th.addr.Offset {
			return th.tid, true
		}
	}
	list := make([]byte, 8*t.nproc)
	if ths.mem.ReadMemory(t.threads, list) != nil {
		return th.tid, true
	}
	for n := range t.nproc {
		if callbacks.Word(list[8*n:8*n+8]) == th.addr.Offset {
			return n, true
		}
	}
	return th.tid, false
}

// tornDown reports whether the region of t is over although its primary thread has not left the team: for
// debuggers, the runtime clears t_pkfn before it dismantles the team. A serialized region may lack a function.
func (ths *threads) tornDown(t *team) bool {
	return ths.l.Team.Pkfn.IsKnown() && t.pkfn.IsNull() && t.serialized == 0 && t.level > 0
}
