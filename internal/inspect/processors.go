package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// processors finds which processors the program may use.
type processors struct{ target callbacks.Target }

// masks are the affinity masks of some threads, each once; none if they are not known,
// as in a core.
func (p *processors) masks(lwps map[int]bool) []picture.Mask {
	s, ok := p.target.(callbacks.Scheduler)
	if !ok {
		return nil
	}
	var out []picture.Mask
	index := map[string]int{}
	for _, lwp := range slices.Sorted(maps.Keys(lwps)) {
		list, err := s.AllowedProcessors(callbacks.LWP(uint64(lwp)))
		if err != nil || len(list) == 0 { // it has ended, or the target does not tell
			continue
		}
		key := fmt.Sprint(list)
		i, ok := index[key]
		if !ok {
			i, index[key] = len(out), len(out)
			out = append(out, picture.Mask{Processors: list})
		}
		out[i].Threads = append(out[i].Threads, lwp)
	}
	return out
}

// quota limits the processor time of the program; nil if there is no limit, or if it is
// not known.
func (p *processors) quota() *picture.Quota {
	s, ok := p.target.(callbacks.Scheduler)
	if !ok {
		return nil
	}
	q, ok := s.ProcessorQuota()
	if !ok {
		return nil
	}
	if q.Throttled > 0 {
		q.Source += fmt.Sprintf("; it was throttled in %d of %d periods", q.Throttled, q.Periods)
	}
	return &picture.Quota{Processors: q.Processors, Source: q.Source}
}

// cpuset is which processors the control group of the program has; nil if it is not known.
func (p *processors) cpuset() *picture.Cpuset {
	s, ok := p.target.(callbacks.Scheduler)
	if !ok {
		return nil
	}
	processors, source := s.Cpuset()
	if source == "" {
		return nil
	}
	return &picture.Cpuset{Processors: processors, Source: source}
}
