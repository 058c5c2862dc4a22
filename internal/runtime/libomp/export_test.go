package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
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

// EnvBlock returns the text that the runtime stores for ompd_get_display_control_vars, line by line. The runtime
// writes its built-in defaults there before it reads the environment.
func (rt *base) EnvBlock() ([]string, error) {
	g := &rt.l.Globals
	block, err := layout.ReadGlobal(rt.mem, g.OmpdEnvBlock, 8)
	if err != nil {
		return nil, err
	}
	if block == 0 {
		return nil, fmt.Errorf("ompd_env_block is null: %w", callbacks.Unavailable)
	}
	text, err := layout.ReadString(rt.mem, callbacks.Addr(uint64(block)), maxText)
	if err != nil {
		return nil, fmt.Errorf("ompd_env_block: %w", err)
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), nil
}
