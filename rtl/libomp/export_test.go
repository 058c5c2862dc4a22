package libomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Reopen reads the runtime of rt again in a target with other memory, without
// looking for its layout again.
func Reopen(rt rtl.Runtime, mem callbacks.Memory) (rtl.Runtime, error) {
	old := rt.(*runtime)
	again := newRuntime(mem, old.stamp, &Located{Layout: *old.l, Report: old.rep, Identity: old.id})
	if err := again.readSlots(); err != nil {
		return nil, err
	}
	again.sortThreads()
	again.identify()
	return again, nil
}
