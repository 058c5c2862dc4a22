package live

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// hold is a stop that lasts until Resume.
type hold struct {
	view    *view
	asked   chan func(*tracer) // what is to run in the tracer meanwhile
	release chan struct{}
	done    chan struct{}
	again   func() // panics if the stop did; to be called when it is done
	pause   Pause
}

// Stop stops all threads until Resume. A second call does nothing. The error is
// ErrStranded if the process would die of it. Whoever can
// ask in one piece should use Look, which stops the process much shorter.
func (p *Process) Stop(ctx context.Context) error {
	if p.lasting() != nil {
		return nil
	}
	if err := p.standing(); err != nil {
		return err
	}
	h := &hold{asked: make(chan func(*tracer)), release: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error, 1)
	h.again = sync.OnceFunc(func() {
		defer close(h.done)
		err := p.stopped(ctx, &h.pause, func(t *tracer) error {
			err := p.refresh()
			h.view = p.view(p.mem, rosterOf(t.threads(p)))
			ready <- err
			h.serve(t)
			return nil
		})
		if err != nil {
			ready <- p.exitReason(err)
		}
	})
	go contained(h.again)
	var err error
	select {
	case err = <-ready:
	case <-h.done:
		h.again()
		err = <-ready
	}
	if err != nil {
		close(h.release)
		<-h.done
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = h
	return nil
}

// serve runs what is asked for until the stop is over.
func (h *hold) serve(t *tracer) {
	for {
		select {
		case f := <-h.asked:
			f(t)
		case <-h.release:
			return
		}
	}
}

// ask runs f in the tracer, unless the stop is over.
func (h *hold) ask(f func(*tracer)) {
	done := make(chan struct{})
	there := func(t *tracer) {
		defer close(done)
		f(t)
	}
	select {
	case h.asked <- there:
		<-done
	case <-h.done:
	}
}

// Resume lets the threads go on that Stop stopped, and waits until they may.
func (p *Process) Resume() error {
	p.mu.Lock()
	h := p.held
	p.held = nil
	p.mu.Unlock()
	if h == nil {
		return nil
	}
	close(h.release)
	<-h.done
	h.again()
	return nil
}

// lasting is the stop that Stop began, nil if there is none.
func (p *Process) lasting() *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// now is the process as it is at the moment.
func (p *Process) now() (*view, error) {
	if h := p.lasting(); h != nil {
		return h.view, nil
	}
	if err := p.refresh(); err != nil {
		return nil, p.exitReason(err)
	}
	threads, err := p.peek()
	if err != nil {
		return nil, p.exitReason(err)
	}
	return p.view(p.mem, rosterOf(threads)), nil
}

// Arch is the architecture of the program.
func (p *Process) Arch() callbacks.Arch { return p.arch }

// ReadMemory fills b with the memory of this moment from address a on.
func (p *Process) ReadMemory(a callbacks.Address, b []byte) error { return p.mem.ReadMemory(a, b) }

// Symbol finds a global symbol in the files of the modules.
func (p *Process) Symbol(name, file string) (callbacks.Address, error) {
	_, mods := p.layout()
	return mods.Symbol(name, file)
}

// ThreadSymbol finds a thread's own instance of a thread-local symbol. Both
// kinds of thread identifier will do.
func (p *Process) ThreadSymbol(t callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	v, err := p.now()
	if err != nil {
		return callbacks.Address{}, err
	}
	return v.ThreadSymbol(t, name, file)
}

// ThreadIDs lists the threads in the order of their birth. While they run, a
// thread whose pthread_t is not known has 0.
func (p *Process) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	v, err := p.now()
	if err != nil {
		return nil, err
	}
	return v.ThreadIDs(kind)
}

// Registers returns the registers of a thread, which must be of kind LWP. While
// the threads run, those of a thread that waits in the kernel are known in
// part, and the others are ErrRunning.
func (p *Process) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	if h := p.lasting(); h != nil {
		return h.view.Registers(t)
	}
	var one []thread
	if _, err := os.Stat(taskPath(p.pid, int(t.Value), "syscall")); err == nil && t.Kind == callbacks.ThreadIDLWP {
		pointers := p.threadPointers(threadCount(p.pid))
		one = []thread{p.peekThread(int(t.Value), pointers[p.insideID(int(t.Value))])}
	}
	return p.view(p.mem, rosterOf(one)).Registers(t)
}

// VectorRegisters returns the floating-point and vector registers of a thread, which must be of kind LWP. Those of a
// thread that runs, or is in a system call, are not known.
func (p *Process) VectorRegisters(t callbacks.ThreadID) ([]byte, error) {
	p.vectors.Store(true)
	if h := p.lasting(); h != nil {
		return h.view.VectorRegisters(t)
	}
	return nil, fmt.Errorf("vector registers of %v: %w", t, ErrRunning)
}

// Modules are the modules that the loader has in its lists, and those that are
// mapped beside; the executable is first.
func (p *Process) Modules() ([]*callbacks.Module, error) {
	_, mods := p.layout()
	return mods.Modules()
}

// Mappings are the mappings of the process, ascending, as they were last read:
// by Open, Look, Stop, or a question about threads.
func (p *Process) Mappings() []callbacks.Mapping {
	list, _ := p.layout()
	return publicMaps(list)
}
