package live

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

var (
	_ callbacks.Scheduler = (*Process)(nil)
	_ callbacks.Scheduler = (*view)(nil)
)

// AllowedProcessors lists the processors that thread t may run on.
func (v *view) AllowedProcessors(t callbacks.ThreadID) ([]int, error) {
	return v.p.AllowedProcessors(t)
}

// ProcessorQuota is the tightest quota of the control groups of the process.
func (v *view) ProcessorQuota() (callbacks.ProcessorQuota, bool) { return v.p.ProcessorQuota() }

// Cpuset is the processors of the control group of the process.
func (v *view) Cpuset() (processors, source string) { return v.p.Cpuset() }

// AllowedProcessors lists the processors that thread t may run on.
func (p *Process) AllowedProcessors(t callbacks.ThreadID) ([]int, error) {
	if t.Kind != callbacks.ThreadIDLWP {
		return nil, fmt.Errorf("affinity mask of %v: %w", t, callbacks.ErrUnsupportedKind)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(int(t.Value), &set); err != nil {
		return nil, fmt.Errorf("affinity mask of %v: %w", t, err)
	}
	var list []int
	for word, w := range set {
		for b := uint64(w); b != 0; b &= b - 1 {
			list = append(list, 64*word+bits.TrailingZeros64(b))
		}
	}
	return list, nil
}

// ProcessorQuota is the tightest quota of the control groups that the process is in.
func (p *Process) ProcessorQuota() (best callbacks.ProcessorQuota, found bool) {
	p.eachGroup(cpuController, func(g group, read func(string) string) bool {
		q, ok := g.quota(read)
		if ok && (!found || q.Processors < best.Processors) {
			best, found = q, true
		}
		return true
	})
	return best, found
}

// Cpuset is the processors of the innermost control group that has some.
func (p *Process) Cpuset() (processors, source string) {
	p.eachGroup(cpusetController, func(g group, read func(string) string) bool {
		processors, source = g.cpuset(read)
		return processors == ""
	})
	return processors, source
}

// eachGroup yields the control groups of the process, the innermost first, with what
// reads their files. They are read where this process sees them, or if it sees none,
// where the other does, as in another container.
func (p *Process) eachGroup(controller string, yield func(g group, read func(name string) string) bool) {
	membership := readText(procPath(p.pid, "cgroup"))
	for _, side := range []struct{ mounts, root string }{
		{"/proc/self/mountinfo", ""}, {procPath(p.pid, "mountinfo"), procPath(p.pid, "root")},
	} {
		groups := groupsOf(controller, readText(side.mounts), membership)
		for _, g := range groups {
			if !yield(g, func(name string) string { return readText(side.root + g.dir + "/" + name) }) {
				return
			}
		}
		if len(groups) > 0 {
			return
		}
	}
}
