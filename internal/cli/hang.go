package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// killAfter is the time that a process has to end on SIGTERM.
const killAfter = 5 * time.Second

// hang reports processes that hang, and ends them. It reports whether there were any.
func (r *runner) hang(ctx context.Context, list []hang) bool {
	list = r.ordered(list)
	for _, h := range list {
		r.ended[h.pid] = true
		fmt.Fprintf(r.Stderr, "ompd-inspect: process %d made no progress for %v\n", h.pid, r.hangAfter)
		r.tell(ctx, h.pid, nil, h.still)
	}
	if len(list) > 0 {
		go r.end(list)
	}
	return len(list) > 0
}

// ordered returns those of some processes that are not ended yet, in the order in which they are reported: those that
// have a verdict first, children before their parents.
func (r *runner) ordered(list []hang) []hang {
	list = slices.DeleteFunc(list, func(h hang) bool { return r.ended[h.pid] })
	generation := generations(list)
	slices.SortFunc(list, func(a, b hang) int {
		return cmp.Or(rank(b.found)-rank(a.found), generation[b.pid]-generation[a.pid], a.pid-b.pid)
	})
	return list
}

func rank(is bool) int {
	if is {
		return 1
	}
	return 0
}

// generations counts the ancestors of each process that are in the list, too.
func generations(list []hang) map[int]int {
	parent := map[int]int{}
	for _, s := range list {
		parent[s.pid] = s.parent
	}
	out := map[int]int{}
	for pid := range parent {
		for p, ok := parent[pid]; ok && out[pid] <= len(list); p, ok = parent[p] {
			out[pid]++
		}
	}
	return out
}

// end ends processes, those first that have the most ancestors among them: a process may
// end, and the program with it, when the ones that it waits for have.
func (r *runner) end(list []hang) {
	generation := generations(list)
	for g := slices.Max(slices.Collect(maps.Values(generation))); g >= 0; g-- {
		var pids []int
		for _, s := range list {
			if generation[s.pid] == g {
				pids = append(pids, s.pid)
			}
		}
		r.endAll(pids)
	}
}

// endAll ends processes, by SIGKILL if they do not end on SIGTERM.
func (r *runner) endAll(pids []int) {
	left := func() []int {
		held := r.program.Processes()
		return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !slices.Contains(held, pid) })
	}
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGTERM)
	}
	for begin := time.Now(); len(left()) > 0 && time.Since(begin) < killAfter; time.Sleep(endNap) {
	}
	for _, pid := range left() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// endNap is the time between two looks whether a process has ended.
const endNap = 10 * time.Millisecond

// tell prints the report of a process, and writes its core, while it stands still. What goes
// wrong is told and does not end the program.
func (r *runner) tell(ctx context.Context, pid int, d *live.Death, why *picture.Standstill) {
	err := r.look(ctx, pid, d, true, func(p *live.Process, pic *picture.Picture) error {
		if pic.Target.Pause != nil {
			pic.Target.Pause.Standstill = why
		}
		return errors.Join(r.write(pic), r.writeCore(p, d), r.writeRecording(p))
	})
	if err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: report of process %d: %v\n", pid, err)
	}
}

// look looks at a process, and does something with what it finds. With hold, the process
// stands still until that is done; only one can at a time.
func (r *runner) look(
	ctx context.Context, pid int, d *live.Death, hold bool, do func(*live.Process, *picture.Picture) error,
) (err error) {
	o := r.open.session()
	p, err := r.program.Open(pid, o.Live())
	if err != nil {
		return err
	}
	t := session.OfProcess(p, d, o)
	defer func() { err = errors.Join(err, t.Close()) }()
	if hold {
		if err := t.Stop(ctx); err != nil && !errors.Is(err, live.ErrStranded) { // which the report says
			return err
		}
	}
	q := r.withNative(session.Report())
	q.Budget = r.budget
	answer, err := t.Look(ctx, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	return do(p, answer.Picture)
}
