package libomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Reopen reads the runtime of rt again in a target with different memory, without searching for its layout
// again.
func Reopen(rt rtl.Runtime, mem callbacks.Memory) (rtl.Runtime, error) {
	old := rt.(*runtime)
	found := &base{mem: mem, stamp: old.stamp, l: old.l, vars: old.vars, rep: old.rep, id: old.id}
	again, err := newRuntime(found)
	if err != nil {
		return nil, err
	}
	found.identify()
	return again, nil
}

// DistrustWords makes the runtime infer each state from all fields, as with stale state words.
func DistrustWords(rt rtl.Runtime) { rt.(*runtime).states.keepsWords = noWords }
