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
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// killAfter is the time that a process has to exit after SIGTERM.
const killAfter = 5 * time.Second

// handleHang reports processes that hang, and ends them. It reports whether there were any.
func (r *runner) handleHang(ctx context.Context, list []hang) bool {
	list = r.reportOrder(list)
	for _, h := range list {
		r.ended[h.pid] = true
		if !r.isJSON() || r.report != "" { // the document on the standard error has the same fact
			fmt.Fprintf(r.Stderr, "ompd-inspect: process %d made no progress for %v\n", h.pid, r.hangAfter)
		}
		r.writeReport(ctx, h.pid, nil, &h)
	}
	if len(list) > 0 {
		go r.end(list)
	}
	return len(list) > 0
}

// reportOrder returns the processes that are not ended yet, in the order of their reports: those with a verdict
// first, children before their parents.
func (r *runner) reportOrder(list []hang) []hang {
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

// generations counts the ancestors of each process that are also in the list.
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

// end ends processes, those with the most ancestors in the list first. A process may exit, and the program with
// it, when its children have.
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

// endAll ends processes by SIGTERM, and by SIGKILL after killAfter.
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

// endNap is the time between two checks whether a process has exited.
const endNap = 10 * time.Millisecond

// maxReportLooks bounds the snapshots for the report of a process that hangs.
const maxReportLooks = 10

// errOtherMoment is the error of a snapshot without the verdict that the snapshots before it had.
var errOtherMoment = errors.New("another moment has the verdict")

// writeReport prints the report of a process and writes its core while the process is stopped. Errors are
// logged; the program continues. h is the hang, nil for a process that dies: its threads may be on their way between
// two places of their waits, so a snapshot may lack the verdict that was found.
func (r *runner) writeReport(ctx context.Context, pid int, d *live.Death, h *hang) {
	err := errOtherMoment
	for left := maxReportLooks; left > 0 && errors.Is(err, errOtherMoment); left-- {
		err = r.inspectProcess(ctx, pid, d, true, func(p *live.Process, pic *picture.Picture) error {
			if h != nil && h.found && left > 1 && !slices.ContainsFunc(pic.Verdicts, diagnose.Hangs) {
				return errOtherMoment
			}
			if h != nil && pic.Target.Pause != nil {
				pic.Target.Pause.Standstill = h.still
			}
			return errors.Join(r.write(pic), r.writeCore(p, d), r.writeRecording(p))
		})
	}
	if err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: report of process %d: %v\n", pid, err)
	}
}

// inspectProcess takes a snapshot of a process and passes it to a function. With hold, the process stays
// stopped until the function returns, and only one such call runs at a time.
func (r *runner) inspectProcess(
	ctx context.Context, pid int, d *live.Death, hold bool, do func(*live.Process, *picture.Picture) error,
) (err error) {
	o := r.open.engineOptions()
	p, err := r.program.Open(pid, o.Live())
	if err != nil {
		return err
	}
	t := engine.NewProcessTarget(p, d, o)
	defer func() { err = errors.Join(err, t.Close()) }()
	if hold {
		if err := t.Stop(ctx); err != nil && !errors.Is(err, live.ErrStranded) { // the report contains this error
			return err
		}
	}
	q := r.withNative(engine.Report())
	q.Budget = r.budget
	answer, err := t.Look(ctx, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	return do(p, answer.Picture)
}
