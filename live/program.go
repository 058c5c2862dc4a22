package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// Program is a program that Start started, with this process as its debugger. It reports when the
// program, or a process that the program started, is about to die of a signal that dumps core;
// while they run, they can be inspected. The program keeps its own signals, job control, files and
// terminal, and continues if this process ends.
type Program struct {
	guard *guard
}

// Event is a change of a program's state.
type Event struct {
	PID int
	// Ended means that the program has ended, with Status. It is the last event.
	Ended  bool
	Status unix.WaitStatus
	// Left holds the processes that still run when the program has ended, ascending. It is nil after Release.
	Left []int
	// Stopped means that job control has stopped the program, after AwaitStop.
	Stopped bool
	// Released means that no process of the program is held any more, after Release.
	Released bool
	// Leaves means that process PID is about to end, if Launch.Exits is set; its memory exists
	// until Proceed.
	Leaves bool
	// Death is the signal that is about to end process PID; nil for other events. The process
	// is stopped until Proceed.
	Death *Death

	proceed chan struct{}
}

// Death is the fatal signal of a process.
type Death struct {
	LWP        int // the thread that got the signal
	Signal     int
	Code       int // si_code; meaningful only if HasCode
	HasCode    bool
	Address    callbacks.Address // of the access or instruction that failed; meaningful only if HasAddress
	HasAddress bool

	info [arch.SignalInfoSize]byte
}

// Launch describes how to start a program.
type Launch struct {
	// Argv is the program, by path or by name in PATH, and its arguments.
	Argv []string
	// Env and Dir are its environment and working directory; if empty, those of this process.
	Env []string
	Dir string
	// Exits requests an event before each process ends, except by SIGKILL.
	Exits bool
	// Releasable means that this process calls Program.Release when it gets ReleaseSignal.
	Releasable bool
	// Files are its standard files; a nil file is that of this process.
	Files [3]*os.File
}

// Start starts a program with the environment, the working directory and the open standard files of
// this process. argv is as in Launch.
func Start(argv []string) (*Program, error) { return Launch{Argv: argv}.Start() }

// Start starts the program. The error is that of exec.LookPath or of the kernel.
func (l Launch) Start() (*Program, error) {
	path, err := exec.LookPath(l.Argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // a user with "." in PATH wants it
		return nil, err
	}
	g := &guard{
		arch: arch.Host(), byTID: map[int]*tracer{}, byPID: map[int]*tracer{},
		child: make(chan os.Signal, 1), asked: make(chan request), events: make(chan Event), over: make(chan struct{}),
		leave: make(chan struct{}, 1), released: make(chan struct{}), heard: terminalSignals{}, exits: l.Exits,
	}
	setStops(true)
	// The kernel sends one for all events; events during its delivery are handled with it.
	signal.Notify(g.child, unix.SIGCHLD)
	started := make(chan error, 1)
	end := func() {
		signal.Stop(g.child)
		close(g.over)
	}
	go runOnThread(func() {
		g.self = unix.Gettid()
		nameGuard(l.Releasable)
		err := g.startProgram(path, l)
		if early := new(endedError); errors.As(err, &early) {
			started <- nil
			g.send(Event{PID: g.root, Ended: true, Status: early.status})
			end()
			return
		}
		started <- err
		if err != nil || g.watch() {
			end()
			return
		}
		go func() { // this thread ends meanwhile
			defer end()
			g.attend()
		}()
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return &Program{g}, nil
}

// endedError is the error of a program that has ended before it was seized, because a signal killed it.
type endedError struct{ status unix.WaitStatus }

// Error implements error.
func (e *endedError) Error() string { return "it ended before its first instruction" }

// startStopped starts a program, and stops it by job control before its first instruction. It starts the program on
// a thread that lives as long as the program: if this process is killed before the program is seized, the end of
// that thread makes the kernel continue the program, which would otherwise stay stopped forever. This cannot help if
// this process is killed between fork and the program's request to be traced: the kernel gives that request to init.
func (g *guard) startStopped(path string, l Launch) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if pid, err = startTraced(path, l); err == nil {
			err = stopAtStart(path, pid)
		}
		close(done)
		<-g.over
	}()
	<-done
	return pid, err
}

// stopAtStart makes job control stop a program that waits after its exec for this thread, its tracer, and detaches
// from it.
func stopAtStart(path string, pid int) error {
	for {
		status, err := waitAtStart(pid)
		if err != nil {
			return err
		}
		if unix.Signal(status) == unix.SIGTRAP {
			break
		}
		// Another signal came before that of exec; it kills the program.
		if err := ptrace(unix.PTRACE_CONT, pid, 0, uintptr(status)); err != nil {
			return fmt.Errorf("start %s: %w", path, err)
		}
	}
	if err := ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP)); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	_, err := waitAtStart(pid)
	return err
}

// waitAtStart waits for a program to stop and returns its signal. The error is an *endedError if it has ended.
func waitAtStart(pid int) (status int32, err error) {
	var info childInfo
	if err := waitID(pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WALL); err != nil {
		return 0, fmt.Errorf("wait for the program to start: %w", err)
	}
	if !info.isStop() {
		return 0, &endedError{statusOf(&info)}
	}
	return info.status, nil
}

// startTraced starts a program that asks this thread to trace it.
func startTraced(path string, l Launch) (pid int, err error) {
	env, files := l.Env, []uintptr{0, 1, 2}
	if env == nil {
		env = os.Environ()
	}
	for i, f := range l.Files {
		if f != nil {
			files[i] = f.Fd()
		}
	}
	pid, _, err = syscall.StartProcess(path, l.Argv, &syscall.ProcAttr{
		Env: env, Dir: l.Dir, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGCONT}, // see startStopped
	})
	if err != nil {
		return 0, refusedStart(path, &os.PathError{Op: "exec", Path: path, Err: err})
	}
	return pid, nil
}

// PID returns the process number of the program.
func (p *Program) PID() int { return p.guard.root }

// Events returns the events of the program. The program waits until its end and its deaths were
// received.
func (p *Program) Events() <-chan Event { return p.guard.events }

// Proceed resumes a process that is about to end.
func (e Event) Proceed() {
	if e.proceed != nil {
		close(e.proceed)
	}
}

// Processes returns the numbers of the program and its running descendants, ascending. After Release, descendants
// whose parent has ended are unknown.
func (p *Program) Processes() []int {
	var list []int
	err := p.guard.ask(p.guard.root, func(t *tracer) error {
		for pid := range t.guard.byPID {
			list = append(list, pid)
		}
		return nil
	})
	if errors.Is(err, errReleased) {
		return descendants(p.guard.root)
	}
	slices.Sort(list)
	return list
}

// Open opens the program or one of its descendants, like the function Open. The process stays open
// if it executes another program, and then returns ErrExec.
func (p *Program) Open(pid int, opts Options) (*Process, error) {
	process, err := Open(pid, opts)
	if err == nil {
		process.guard = p.guard
	}
	return process, err
}
