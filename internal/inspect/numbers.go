package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxAsked bounds the threads whose numbers Doctor checks: the functions take
// half a millisecond for each. If a field is read from a wrong place, a few
// threads show it.
const maxAsked = 64

// checkNumbers holds what was read of threads against what the runtime's own
// omp_get_ functions would tell them.
func (d *doctor) checkNumbers(rt *runtimeView) picture.Check {
	c := picture.Check{Name: "numbers of " + rt.id, Status: picture.CheckMissing, Detail: "no thread is in a region"}
	if rt.apiOnly() {
		c.Status = picture.CheckPartly
		c.Detail = "they are what omp_get_* would return: there is nothing else to compare them with"
		return c
	}
	call, err := accessor.New(d.target, rt.Identity().Module)
	if err != nil {
		c.Detail = stacks.Message(err)
		return c
	}
	same, asked := 0, 0
	var differ []string
	var failed error
	for _, n := range d.roster.sorted() {
		if n.rt != rt || len(n.chain) == 0 || n.info.HiddenHelper || asked >= maxAsked {
			continue
		}
		tp := accessor.ThreadPointer(d.target, uint64(n.LWP), n.Pthread)
		got, err := call.Check(rt, n.h, tp)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		asked++
		same += got.Same
		for _, d := range got.Differ {
			differ = append(differ, fmt.Sprintf("thread %d: %v", n.LWP, d))
		}
		if len(got.Unasked) > 0 {
			failed = cmp.Or(failed, got.Unasked[0])
		}
	}
	switch {
	case len(differ) > 0:
		c.Status = picture.CheckPartly
		c.Detail = fmt.Sprintf("%d of %d are not what omp_get_* would return: %s",
			len(differ), same+len(differ), strings.Join(differ[:min(len(differ), maxErrors)], "; "))
		c.Fix = "ompd-inspect layout " + d.about.Name()
	case same > 0:
		c.Status = picture.CheckOK
		c.Detail = fmt.Sprintf("%d numbers of %d threads are what omp_get_* would return to them", same, asked)
	case failed != nil:
		c.Detail = "omp_get_* could not be evaluated: " + stacks.Message(failed)
	case asked > 0:
		c.Detail = "the code of omp_get_*, to compare them with, is not at hand"
	}
	return c
}
