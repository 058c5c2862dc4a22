package live

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// stranded are the threads that wait in the kernel and have no code to go back to: the
// library that they are in was unloaded. They wait for ever and harm nobody, but a thread
// that was stopped goes back to its system call, to begin it again, and these would die
// of that, and all others with them.
func (p *Process) stranded(threads []thread) ([]callbacks.ThreadID, error) {
	list := p.nowhere(threads)
	if len(list) == 0 {
		return nil, nil
	}
	if err := p.refresh(); err != nil { // the code may have been loaded just now
		return nil, err
	}
	return p.nowhere(threads), nil
}

// nowhere are the threads whose program counter lies in no code.
func (p *Process) nowhere(threads []thread) []callbacks.ThreadID {
	maps, _ := p.layout()
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

// standing is the error of a process that no stop would leave alive.
func (p *Process) standing() error {
	threads, err := p.peek()
	if err != nil {
		return p.exitReason(err)
	}
	list, err := p.stranded(threads)
	if err != nil || len(list) == 0 {
		return err
	}
	return &Error{
		PID: p.pid, Err: ErrStranded,
		Cause: fmt.Sprintf("thread %d waits in a library that was unloaded", list[0].Value),
		Fix:   fmt.Sprintf("look without a stop: ompd-inspect --no-stop %d", p.pid),
	}
}
