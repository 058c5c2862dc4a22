package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// maxThreads bounds the number of threads in a target: PID_MAX_LIMIT of Linux.
const maxThreads = 4 << 20

// native is a thread of the target.
type native struct {
	lwp, pthread uint64 // 0 if unknown
	tp           uint64 // thread pointer; 0 if unknown
}

// listThreads lists the target's threads with their thread pointers. On x86-64 the thread pointer equals the
// pthread_t; on other architectures it is only in a register.
func listThreads(t callbacks.Target) ([]native, error) {
	lwps, lwpErr := t.ThreadIDs(callbacks.ThreadIDLWP)
	pthreads, err := t.ThreadIDs(callbacks.ThreadIDPthread)
	if lwpErr != nil && err != nil {
		return nil, fmt.Errorf("threads of the target: %w", errors.Join(lwpErr, err))
	}
	n := max(len(lwps), len(pthreads))
	if n > maxThreads {
		return nil, fmt.Errorf("%d threads are more than the bound of %d: %w", n, maxThreads, callbacks.Incompatible)
	}
	registers, _ := t.(callbacks.RegisterReader)
	all := make([]native, n)
	for i := range all {
		if i < len(pthreads) {
			all[i].pthread = pthreads[i].Value
		}
		if i < len(lwps) {
			all[i].lwp = lwps[i].Value
			if registers != nil {
				if r, err := registers.Registers(lwps[i]); err == nil {
					all[i].tp = r.ThreadPointer
				}
			}
		}
		if all[i].tp == 0 && arch.Of(t.Arch()).PthreadAtTP {
			all[i].tp = all[i].pthread
		}
		if all[i].pthread == 0 && arch.Of(t.Arch()).PthreadAtTP {
			all[i].pthread = all[i].tp
		}
	}
	return all, nil
}
