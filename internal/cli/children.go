package cli

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxChildren bounds the child processes of a process that are inspected with it.
const maxChildren = 4

// addHungChildren adds to the picture of a process the children that its threads wait for and that hang. Each child
// with an OpenMP runtime is inspected like a process of its own. A child that cannot be inspected is left out.
func (a *app) addHungChildren(pic *picture.Picture) {
	if pic.Target.Kind != picture.TargetProcess || pic.Facts == nil ||
		slices.ContainsFunc(pic.Verdicts, diagnose.Hangs) {
		return
	}
	awaited := map[int]bool{} // as the process numbers them; 0: any
	for _, w := range pic.Facts.Waits {
		if w.Child != nil {
			awaited[*w.Child] = true
		}
	}
	if len(awaited) == 0 {
		return
	}
	isAwaited := func(n int) bool { return awaited[0] || awaited[n] }
	runtimes, inspected := live.NewRuntimeSearch(readers.Classify), 0
	for _, p := range live.Children(pic.Target.PID) {
		if !slices.ContainsFunc(p.Numbers, isAwaited) || !runtimes.Uses(p.PID) {
			continue
		}
		if inspected++; inspected > maxChildren {
			break
		}
		if v := a.hangOf(p.PID); v != nil {
			pic.Target.Hung = append(pic.Target.Hung,
				picture.Child{PID: p.PID, Name: filepath.Base(p.Executable), Verdict: *v})
		}
	}
}

// hangOf inspects a process and returns the first verdict of a hang; nil without one.
func (a *app) hangOf(pid int) *picture.Verdict {
	q := engine.Query{Parts: picture.Parts{Threads: true}, Verdicts: true, Budget: a.budget}
	var found *picture.Verdict
	_ = a.ask(strconv.Itoa(pid), q, func(answer *engine.Result) error { // a failed look has no verdict
		list := answer.Picture.Verdicts
		if i := slices.IndexFunc(list, diagnose.Hangs); i >= 0 {
			v := list[i]
			found = &v
		}
		return nil
	})
	return found
}
