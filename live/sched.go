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

// AllowedProcessors lists the processors that thread t may run on.
func (v *view) AllowedProcessors(t callbacks.ThreadID) ([]int, error) {
	return v.p.AllowedProcessors(t)
}

// ProcessorQuota is the tightest quota of the control groups of the process.
func (v *view) ProcessorQuota() (callbacks.ProcessorQuota, bool) { return v.p.ProcessorQuota() }

// Cpuset is the processors of the control group of the process.
func (v *view) Cpuset() (processors, source string) { return v.p.Cpuset() }

// HandledSignals are the signals for which the process has handlers.
func (v *view) HandledSignals() (signals uint64, ok bool) { return v.p.HandledSignals() }

// HandledSignals are the signals for which the process has handlers.
func (o *opened) HandledSignals() (signals uint64, ok bool) {
	st, err := readStatus(o.pid)
	if err != nil {
		return 0, false
	}
	return st.caught, true
}

// AllowedProcessors lists the processors that thread t may run on.
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

// ProcessorQuota is the tightest quota of the control groups that the process is in.
func (o *opened) ProcessorQuota() (callbacks.ProcessorQuota, bool) {
	return groupTree{pid: o.pid}.quota()
}

// Cpuset is the processors of the innermost control group that has some.
func (o *opened) Cpuset() (processors, source string) { return groupTree{pid: o.pid}.cpuset() }
