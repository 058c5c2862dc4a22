package live

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// findStranded returns the threads that wait in the kernel and have no code to return to, because their
// library was unloaded. They wait forever without harm, but a stopped thread returns to restart its
// system call, and these would crash and kill the process.
func (p *Process) findStranded(threads []thread) ([]callbacks.ThreadID, error) {
	list := p.findWithoutCode(threads)
	if len(list) == 0 {
		return nil, nil
	}
	if err := p.refresh(); err != nil { // the code may have been loaded just now
		return nil, err
	}
	return p.findWithoutCode(threads), nil
}

// findWithoutCode returns the threads with a program counter outside mapped code.
func (p *Process) findWithoutCode(threads []thread) []callbacks.ThreadID {
	maps, _ := p.lastLayout()
	var list []callbacks.ThreadID
	for _, t := range threads {
		if t.err != nil {
			continue
		}
		if m := mappingAt(maps, t.regs.PC()); m == nil || m.Perm&callbacks.PermExec == 0 {
			list = append(list, callbacks.LWP(t.lwp))
		}
	}
	return list
}

// strandedError returns the error for a process that a stop would kill.
func (p *Process) strandedError() error {
	threads, err := p.peek()
	if err != nil {
		return p.exitReason(err)
	}
	list, err := p.findStranded(threads)
	if err != nil || len(list) == 0 {
		return err
	}
	return &Error{
		PID: p.pid, Err: ErrStranded,
		Cause: fmt.Sprintf("thread %d waits in a library that was unloaded", list[0].Value),
		Fix:   fmt.Sprintf("look without a stop: ompd-inspect --no-stop %d", p.pid),
	}
}
