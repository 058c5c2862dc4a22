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
	asked   chan func(*tracer) // functions to run in the tracer
	release chan struct{}
	done    chan struct{}
	again   func() // panics if the stop did; called when it is done
	pause   Pause
}

// Stop stops all threads until Resume. A second call has no effect. The error is ErrStranded if the process
// would die of it. Prefer Look, which stops the process for a much shorter time.
func (p *Process) Stop(ctx context.Context) error {
	if p.currentHold() != nil {
		return nil
	}
	if err := p.strandedError(); err != nil {
		return err
	}
	h := &hold{asked: make(chan func(*tracer)), release: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error, 1)
	h.again = sync.OnceFunc(func() {
		defer close(h.done)
		err := p.runStopped(ctx, &h.pause, func(t *tracer) error {
			err := p.refresh()
			h.view = p.newView(p.mem, rosterOf(t.stoppedThreads(p)))
			ready <- err
			h.serve(t)
			return nil
		})
		if err != nil {
			ready <- p.exitReason(err)
		}
	})
	go runContained(h.again)
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

// serve runs requested functions until the stop is over.
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

// Resume resumes the threads that Stop stopped, and waits until they may run.
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

// currentHold returns the stop that Stop started, or nil.
func (p *Process) currentHold() *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// currentView returns a view of the current process.
func (p *Process) currentView() (*view, error) {
	if h := p.currentHold(); h != nil {
		return h.view, nil
	}
	if err := p.refresh(); err != nil {
		return nil, p.exitReason(err)
	}
	threads, err := p.peek()
	if err != nil {
		return nil, p.exitReason(err)
	}
	return p.newView(p.mem, rosterOf(threads)), nil
}

// Arch returns the architecture of the program.
func (p *Process) Arch() callbacks.Arch { return p.arch }

// ReadMemory fills b with the current memory at address a.
func (p *Process) ReadMemory(a callbacks.Address, b []byte) error { return p.mem.ReadMemory(a, b) }

// Symbol finds a global symbol in the files of the modules.
func (p *Process) Symbol(name, file string) (callbacks.Address, error) {
	_, mods := p.lastLayout()
	return mods.Symbol(name, file)
}

// ThreadSymbol finds a thread's own instance of a thread-local symbol. It accepts both kinds of
// thread identifier.
func (p *Process) ThreadSymbol(t callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	v, err := p.currentView()
	if err != nil {
		return callbacks.Address{}, err
	}
	return v.ThreadSymbol(t, name, file)
}

// ThreadIDs returns the threads in the order of creation. While they run, a thread with unknown
// pthread_t has 0.
func (p *Process) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	v, err := p.currentView()
	if err != nil {
		return nil, err
	}
	return v.ThreadIDs(kind)
}

// Registers returns the registers of a thread, which must be of kind LWP. While the threads run, a
// thread that waits in the kernel has some registers, and the others return ErrRunning.
func (p *Process) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	if h := p.currentHold(); h != nil {
		return h.view.Registers(t)
	}
	var one []thread
	if _, err := os.Stat(taskPath(p.pid, int(t.Value), "syscall")); err == nil && t.Kind == callbacks.ThreadIDLWP {
		pointers := p.threadPointers(threadCount(p.pid))
		one = []thread{p.peekThread(int(t.Value), pointers[p.insideID(int(t.Value))])}
	}
	return p.newView(p.mem, rosterOf(one)).Registers(t)
}

// VectorRegisters returns the floating-point and vector registers of a thread, which must be of
// kind LWP. They are unknown while the thread runs or is in a system call.
func (p *Process) VectorRegisters(t callbacks.ThreadID) ([]byte, error) {
	p.vectors.Store(true)
	if h := p.currentHold(); h != nil {
		return h.view.VectorRegisters(t)
	}
	return nil, fmt.Errorf("vector registers of %v: %w", t, ErrRunning)
}

// Modules returns the modules in the loader's lists and other mapped modules; the executable is
// first.
func (p *Process) Modules() ([]*callbacks.Module, error) {
	_, mods := p.lastLayout()
	return mods.Modules()
}

// Mappings returns the mappings of the process in ascending order, as they were last read by Open,
// Look, Stop, or a question about threads.
func (p *Process) Mappings() []callbacks.Mapping {
	list, _ := p.lastLayout()
	return publicMaps(list)
}
