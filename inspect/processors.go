package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Allowed lists the processors that a thread may run on, ascending; nil if that is not
// known, as in a core.
func (in *Inspector) Allowed(lwp int) []int {
	if list, ok := in.allowed[lwp]; ok {
		return list
	}
	var list []int
	if s, ok := in.cfg.Target.(callbacks.Scheduler); ok {
		list, _ = s.AllowedProcessors(callbacks.LWP(uint64(lwp)))
	}
	in.allowed[lwp] = list
	return list
}

// Quota limits the processor time of the program: so many processors, and where that
// was read. It is not ok if there is no limit, or if it is not known.
func (in *Inspector) Quota() (processors float64, source string, ok bool) {
	s, ok := in.cfg.Target.(callbacks.Scheduler)
	if !ok {
		return 0, "", false
	}
	q, ok := s.ProcessorQuota()
	source = q.Source
	if q.Throttled > 0 {
		source += fmt.Sprintf("; it was held back in %d of %d of these times", q.Throttled, q.Periods)
	}
	return q.Processors, source, ok
}

// Cpuset tells which processors the control group of the program has, and where that
// was read; empty if it is not known.
func (in *Inspector) Cpuset() (processors, source string) {
	if s, ok := in.cfg.Target.(callbacks.Scheduler); ok {
		return s.Cpuset()
	}
	return "", ""
}

// Binding lists the environment variables that bind threads to processors and are
// set, as NAME=value.
func (in *Inspector) Binding() []string {
	out, _ := in.environmentOf(rtl.BindingVariables(), nil)
	return out
}

// SpinSettings lists the environment variables that say for how long threads spin and
// are set, as NAME=value, and whether one says that they do all the time.
func (in *Inspector) SpinSettings() (set []string, always bool) {
	return in.environmentOf(rtl.SpinVariables())
}

// environmentOf lists those of some environment variables that are set, and whether
// one has a value out of some.
func (in *Inspector) environmentOf(names, values []string) (out []string, has bool) {
	for _, name := range names {
		if value, set, _ := in.Environment(name); set {
			out = append(out, name+"="+value)
			has = has || slices.Contains(values, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	return out, has
}

// ProcessorList writes processors as people do, such as "0-3,8". They ascend.
func ProcessorList(list []int) string {
	var parts []string
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[0]+n {
			n++
		}
		text := strconv.Itoa(list[0])
		if n > 1 {
			text += "-" + strconv.Itoa(list[n-1])
		}
		parts, list = append(parts, text), list[n:]
	}
	return strings.Join(parts, ",")
}

// Within tells whether all processors of a are among those of b. They ascend.
func Within(a, b []int) bool {
	return !slices.ContainsFunc(a, func(p int) bool {
		_, found := slices.BinarySearch(b, p)
		return !found
	})
}
