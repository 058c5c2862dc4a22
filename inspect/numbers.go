package inspect

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/rtl/accessor"
)

// maxAsked bounds the threads whose numbers Doctor checks: the functions take
// half a millisecond for each. If a field is read from a wrong place, a few
// threads show it.
const maxAsked = 64

// checkNumbers holds what was read of threads against what the runtime's own
// omp_get_ functions would tell them.
func (in *Inspector) checkNumbers(rt *runtimeView) Check {
	c := Check{Name: "numbers of " + rt.id, Status: CheckMissing, Detail: "no thread is in a region"}
	if rt.told() {
		c.Status, c.Detail = CheckPartly, "they are what omp_get_* would tell: there is nothing else to hold them against"
		return c
	}
	call, err := accessor.New(in.cfg.Target, rt.Identity().Module)
	if err != nil {
		c.Detail = message(err)
		return c
	}
	same, asked := 0, 0
	var differ []string
	var failed error
	for _, n := range in.sorted() {
		if n.rt != rt || len(n.chain) == 0 || n.info.HiddenHelper || asked >= maxAsked {
			continue
		}
		tp := accessor.ThreadPointer(in.cfg.Target, uint64(n.lwp), n.pthread)
		got, err := call.Check(rt, n.h, tp)
		if err != nil {
			continue // the thread itself shows what is wrong
		}
		asked++
		same += got.Same
		for _, d := range got.Differ {
			differ = append(differ, fmt.Sprintf("thread %d: %v", n.lwp, d))
		}
		if len(got.Unasked) > 0 && failed == nil {
			failed = got.Unasked[0]
		}
	}
	switch {
	case len(differ) > 0:
		c.Status = CheckPartly
		c.Detail = fmt.Sprintf("%d of %d are not what omp_get_* would tell: %s", len(differ), same+len(differ), strings.Join(differ[:min(len(differ), maxErrors)], "; "))
		c.Cure = "ompd-inspect layout " + in.cfg.About.Name()
	case same > 0:
		c.Status, c.Detail = CheckOK, fmt.Sprintf("%d numbers of %d threads are what omp_get_* would tell them", same, asked)
	case failed != nil:
		c.Detail = "omp_get_* could not be asked: " + message(failed)
	}
	return c
}
