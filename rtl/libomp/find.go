package libomp

import (
	"fmt"
	"math"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Find returns the modules of t that hold a runtime of LLVM's kind: those that
// define its entry points, whatever the file's name is. Where there is none, a
// runtime may be linked into a stripped file, or its own file may not be at
// hand; the memory of the modules tells. No runtime is no error.
func Find(t callbacks.Target) ([]*callbacks.Module, error) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return findUnlisted(t), nil
	}
	mods, err := lister.Modules()
	var found []*callbacks.Module
	for _, mod := range mods {
		if defines(t, mod, "__kmpc_fork_call") && defines(t, mod, "__kmpc_global_thread_num") {
			found = append(found, mod)
		}
	}
	if len(found) == 0 {
		for _, mod := range mods {
			if newMemorySource(t, mod).present() {
				found = append(found, mod)
			}
		}
	}
	if len(found) == 0 && err != nil {
		return nil, fmt.Errorf("finding the OpenMP runtime: %w", err)
	}
	return found, nil
}

// findUnlisted is for a target that can look symbols up, but not list modules:
// the runtime is where the symbols are.
func findUnlisted(t callbacks.Target) []*callbacks.Module {
	everywhere := &callbacks.Module{High: callbacks.At(math.MaxUint64)}
	if !defines(t, everywhere, "__kmpc_fork_call") {
		return nil
	}
	return []*callbacks.Module{everywhere}
}

func defines(t callbacks.Target, mod *callbacks.Module, name string) bool {
	_, err := moduleSymbol(t, mod, name)
	return err == nil
}

// present tells whether the runtime's description of itself is in the module.
func (s *memorySource) present() bool {
	s.scan()
	return s.scanErr == nil
}
