package generated

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits that distinguish a standstill from slowness.
const (
	sample   = 20 * time.Millisecond
	stillFor = 3   // samples without a note until sleeping threads count as hung
	watched  = 500 // samples until spinning threads that used too little time to make a note count as hung
	// noteTime is the CPU time in which a thread that makes progress makes a note.
	noteTime = 8 * time.Millisecond
	// noteTurns is the number of yields of a thread without progress; a working thread uses more than noteTime in
	// as many.
	noteTurns = 200
)

// waitForChild starts the line of /proc on a thread in the system call wait4.
var waitForChild = fmt.Sprint(unix.SYS_WAIT4, " ")

// ran is the amount that a thread has run.
type ran struct {
	time  time.Duration
	turns int
}

// standstill reports whether no thread makes progress any more.
func (r *run) standstill() (bool, error) {
	before, err := r.truth()
	if err != nil {
		return false, err
	}
	since := map[int]ran{}
	for n := range watched {
		time.Sleep(sample)
		now, err := r.truth()
		if err != nil {
			return false, err
		}
		if len(now) != len(before) || len(same(before, now)) != len(now) {
			return false, nil
		}
		used, waits := r.stuck(now)
		switch {
		case !waits:
			return false, nil
		case n+1 < stillFor:
		case len(used) == 0, spun(since, used):
			return true, nil
		}
	}
	return false, nil
}

// spun reports whether each running thread has used enough time since it was first seen to make a note.
func spun(since, now map[int]ran) bool {
	all := true
	for lwp, used := range now {
		if _, seen := since[lwp]; !seen {
			since[lwp] = used
		}
		first := since[lwp]
		all = all && (used.time >= first.time+noteTime || used.turns >= first.turns+noteTurns)
	}
	return all
}

// stuck returns the amount that the non-sleeping threads have run; waits reports whether all of these spin where
// they may wait, and no thread waits for a child process: a child that gets no processor makes no note.
func (r *run) stuck(truth Truth) (used map[int]ran, waits bool) {
	used = map[int]ran{}
	tasks := fmt.Sprintf("/proc/%d/task", r.pid)
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		dir := filepath.Join(tasks, e.Name())
		text, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			return nil, false
		}
		call, err := os.ReadFile(filepath.Join(dir, "syscall"))
		if err == nil && strings.HasPrefix(string(call), waitForChild) {
			return nil, false
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if strings.HasPrefix(rest, "S") {
			continue
		}
		lwp, _ := strconv.Atoi(e.Name())
		if !mayBeWaiting(truth[lwp]) {
			return nil, false
		}
		used[lwp] = timeUsed(dir, rest)
	}
	return used, len(entries) > 0
}

// timeUsed returns the amount that a thread has run, as counted by the kernel, or else, to the tick, from the
// fields of its stat after the name.
func timeUsed(dir, stat string) ran {
	const user, system, tick = 11, 12, 10 * time.Millisecond
	if text, err := os.ReadFile(filepath.Join(dir, "schedstat")); err == nil {
		var used, waited int64
		var turns int
		if _, err := fmt.Sscan(string(text), &used, &waited, &turns); err == nil {
			return ran{time.Duration(used), turns}
		}
	}
	f := strings.Fields(stat)
	if len(f) <= system {
		return ran{}
	}
	u, _ := strconv.Atoi(f[user])
	s, _ := strconv.Atoi(f[system])
	return ran{time: time.Duration(u+s) * tick}
}

// mayBeWaiting reports whether a running thread has noted a wait, or may be at the end of a construct, where
// there is no note, and threads spin. With tasks queued in a team, threads of LLVM's runtime spin under every
// wait policy.
func mayBeWaiting(s *slot) bool {
	return s != nil && (s.top().waits() || s.top().Kind == NoteRegionEnd || s.top().Kind == NoteConstruct)
}
