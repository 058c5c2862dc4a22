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

	_ callbacks.VectorReader = (*Process)(nil)
	_ callbacks.VectorReader = (*view)(nil)
)

// AllowedProcessors returns the processors on which thread t may run.
func (v *view) AllowedProcessors(t callbacks.ThreadID) ([]int, error) {
	return v.p.AllowedProcessors(t)
}

// ProcessorQuota returns the tightest quota of the process's control groups.
func (v *view) ProcessorQuota() (callbacks.ProcessorQuota, bool) { return v.p.ProcessorQuota() }

// Cpuset returns the processors of the process's control group.
func (v *view) Cpuset() (processors, source string) { return v.p.Cpuset() }

// HandledSignals returns the signals for which the process has handlers.
func (v *view) HandledSignals() (signals uint64, ok bool) { return v.p.HandledSignals() }

// HandledSignals returns the signals for which the process has handlers.
func (o *opened) HandledSignals() (signals uint64, ok bool) {
	st, err := readStatus(o.pid)
	if err != nil {
		return 0, false
	}
	return st.caught, true
}

// AllowedProcessors returns the processors on which thread t may run.
func (o *opened) AllowedProcessors(t callbacks.ThreadID) ([]int, error) {
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

// ProcessorQuota returns the tightest quota of the process's control groups.
func (o *opened) ProcessorQuota() (callbacks.ProcessorQuota, bool) {
	return groupTree{pid: o.pid}.tightestQuota()
}

// Cpuset returns the processors of the innermost control group that limits them.
func (o *opened) Cpuset() (processors, source string) { return groupTree{pid: o.pid}.innermostCpuset() }
