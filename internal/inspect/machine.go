package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of the program's environment, which Linux limits to a quarter of the stack's size.
const (
	maxEnvironVars  = 1 << 16
	maxEnvironValue = 4096
)

// environment reads the environment of the program.
type environment struct {
	target callbacks.Target
	sym    *symbolize.Symbolizer // nil: the environment is unknown
}

// variables returns the current values of the variables that verdicts need.
func (e *environment) variables() []picture.Variable {
	var out []picture.Variable
	add := func(purpose picture.VariablePurpose, names []string) {
		for _, n := range names {
			out = append(out, picture.Variable{Name: n, State: picture.VariableUnknown, Purpose: purpose})
		}
	}
	spin, always := rtl.SpinVariables()
	add(picture.PurposeTeam, rtl.TeamVariables())
	add(picture.PurposeBind, rtl.BindingVariables())
	add(picture.PurposeSpin, spin)
	values, known := e.environ(out)
	for i := range out {
		v := &out[i]
		switch value, set := values[v.Name]; {
		case set:
			v.State, v.Value = picture.VariableSet, value
			v.AlwaysSpins = v.Purpose == picture.PurposeSpin &&
				slices.Contains(always, strings.ToLower(strings.TrimSpace(value)))
		case known:
			v.State = picture.VariableUnset
		}
	}
	return out
}

// environ reads the values of some variables of the environment; whole reports whether all of it could be read.
func (e *environment) environ(wanted []picture.Variable) (values map[string]string, whole bool) {
	if e.sym == nil {
		return nil, false
	}
	addr, ok := e.sym.Lookup("environ", "libc.so.6")
	if !ok {
		if addr, ok = e.sym.Lookup("environ", ""); !ok {
			return nil, false
		}
	}
	values = map[string]string{}
	array, ok := e.pointer(addr)
	for i := uint64(0); ok && i < maxEnvironVars; i++ {
		var p uint64
		if p, ok = e.pointer(array + 8*i); !ok || p == 0 {
			return values, ok
		}
		name, value, _ := strings.Cut(e.cstring(p, maxEnvironValue), "=")
		if _, had := values[name]; !had &&
			slices.ContainsFunc(wanted, func(v picture.Variable) bool { return v.Name == name }) {
			values[name] = value
		}
	}
	return values, false
}

// pointer reads an address.
func (e *environment) pointer(addr uint64) (uint64, bool) {
	var b [8]byte
	if e.target.ReadMemory(callbacks.Addr(addr), b[:]) != nil {
		return 0, false
	}
	return callbacks.Word(b[:]), true
}

// cstring reads up to limit bytes of a string. It returns the readable part.
func (e *environment) cstring(addr uint64, limit int) string {
	var out []byte
	for len(out) < limit {
		chunk := make([]byte, min(256-int(addr&255), limit-len(out)))
		if e.target.ReadMemory(callbacks.Addr(addr), chunk) != nil {
			break
		}
		if end := slices.Index(chunk, 0); end >= 0 {
			return string(append(out, chunk[:end]...))
		}
		out = append(out, chunk...)
		addr += uint64(len(chunk))
	}
	return string(out)
}

// rank returns the rank of the process in an MPI job, by its environment; nil if that has no rank.
func (e *environment) rank() *picture.Rank {
	var wanted []picture.Variable
	for _, name := range mpi.Variables() {
		wanted = append(wanted, picture.Variable{Name: name})
	}
	values, _ := e.environ(wanted)
	r, ok := mpi.RankOf(func(name string) string { return values[name] })
	if !ok {
		return nil
	}
	return &picture.Rank{Rank: r.Rank, Size: r.Size, Job: r.Job, Host: r.Host, Source: r.From}
}

// processors finds the processors that the program may use.
type processors struct{ target callbacks.Target }

// masks returns the affinity masks of some threads, each once; nil if they are unknown, as in a core.
func (p *processors) masks(lwps map[int]bool) []picture.Mask {
	s, ok := p.target.(callbacks.Scheduler)
	if !ok {
		return nil
	}
	var out []picture.Mask
	index := map[string]int{}
	for _, lwp := range slices.Sorted(maps.Keys(lwps)) {
		list, err := s.AllowedProcessors(callbacks.LWP(uint64(lwp)))
		if err != nil || len(list) == 0 { // it has ended, or its mask is unknown
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

// quota returns the CPU limit of the program; nil if there is no limit, or if it is unknown.
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

// cpuset returns the processors of the program's control group; nil if they are unknown.
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
