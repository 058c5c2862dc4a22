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

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// killAfter is the time that a process has to end on SIGTERM.
const killAfter = 5 * time.Second

// suspect is a process that makes no progress.
type suspect struct {
	hang
	found bool // a verdict says that it hangs
}

// hang reports processes that make no progress, and ends them: first those that hang by
// themselves, a process that waits for them last. It reports whether there were any.
func (r *runner) hang(ctx context.Context, list []hang) bool {
	suspects := r.suspects(ctx, list)
	for _, s := range suspects {
		r.ended[s.pid] = true
		fmt.Fprintf(r.Stderr, "ompd-inspect: process %d made no progress for %v\n", s.pid, r.hangAfter)
		r.tell(ctx, s.pid, nil, s.still)
	}
	if len(suspects) > 0 {
		go r.end(suspects)
	}
	return len(suspects) > 0
}

// suspects lists those of some processes without progress that hang, in the order in which
// they are reported. If there are several, they are looked at for it.
func (r *runner) suspects(ctx context.Context, list []hang) (out []suspect) {
	for _, h := range list {
		if r.ended[h.pid] {
			continue
		}
		s := suspect{hang: h}
		if h.spared || len(list) > 1 {
			s.found = r.hangs(ctx, h.pid)
		}
		if s.found || !h.spared {
			out = append(out, s)
		}
	}
	generation := generations(out)
	slices.SortFunc(out, func(a, b suspect) int {
		return cmp.Or(rank(b.found)-rank(a.found), generation[b.pid]-generation[a.pid], a.pid-b.pid)
	})
	return out
}

func rank(is bool) int {
	if is {
		return 1
	}
	return 0
}

// generations counts the ancestors of each process that are in the list, too.
func generations(list []suspect) map[int]int {
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
func (r *runner) end(list []suspect) {
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

// hangs reports whether a verdict says that a process hangs.
func (r *runner) hangs(ctx context.Context, pid int) (found bool) {
	_ = r.look(ctx, pid, nil, false, func(_ *live.Process, pic *picture.Picture) error { // its report says what fails
		found = slices.ContainsFunc(pic.Verdicts, diagnose.Hangs)
		return nil
	})
	return found
}

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
