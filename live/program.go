package live

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// Program is a program that Start started, with this process as its debugger:
// it tells when the program, or a process that it has started, is about to die of
// a signal that dumps core, and while they run they can be looked at like others.
// Signals, job control, files and the terminal are the program's own; if this
// process ends, it goes on.
type Program struct {
	guard *guard
}

// Event is something that became of a program.
type Event struct {
	PID int
	// Ended tells that the program has ended, with Status. It is the last event.
	Ended  bool
	Status unix.WaitStatus
	// Left are the processes that it leaves behind when it has ended, ascending. They go on.
	Left []int
	// Stopped tells that job control has stopped the program, which AwaitStop asked.
	Stopped bool
	// Leaves tells that process PID is about to end, if that was asked for: its memory is there
	// until Proceed.
	Leaves bool
	// Death is why process PID is about to die, if it is: it stands still until
	// Proceed.
	Death *Death

	proceed chan struct{}
}

// Death is the signal that a process is about to die of.
type Death struct {
	LWP        int // the thread that got the signal
	Signal     int
	Code       int // si_code; meaningful only if HasCode
	HasCode    bool
	Address    callbacks.Address // of the access or instruction that failed; meaningful only if HasAddress
	HasAddress bool

	info [arch.SignalInfoSize]byte
}

// Launch says how to start a program.
type Launch struct {
	// Argv is the program, by path or to be found in PATH, and its arguments.
	Argv []string
	// Env and Dir are its environment and working directory; those of this process if they
	// are empty.
	Env []string
	Dir string
	// Exits asks for an event before each process ends, however it does, but by SIGKILL.
	Exits bool
	// Files are its standard files; those of this process where they are nil.
	Files [3]*os.File
}

// Start starts a program with the environment, the working directory and the open
// standard files of this process. argv is as in Launch.
func Start(argv []string) (*Program, error) { return Launch{Argv: argv}.Start() }

// Start starts the program. The error is that of exec.LookPath or of the kernel.
func (l Launch) Start() (*Program, error) {
	path, err := exec.LookPath(l.Argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // who has "." in PATH means it
		return nil, err
	}
	g := &guard{
		arch: hostArch(), byTID: map[int]*tracer{}, byPID: map[int]*tracer{},
		child: make(chan os.Signal, 1), asked: make(chan request), events: make(chan Event), over: make(chan struct{}),
		heard: heard{}, exits: l.Exits,
	}
	setStops(true)
	// The kernel sends one with all news; what came while one was under way is
	// seen with it.
	signal.Notify(g.child, unix.SIGCHLD)
	started := make(chan error, 1)
	go onThread(func() {
		defer signal.Stop(g.child)
		defer close(g.over)
		g.self = unix.Gettid()
		nameGuard()
		err := g.begin(path, l)
		started <- err
		if err == nil {
			g.watch()
		}
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return &Program{g}, nil
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
		Env: env, Dir: l.Dir, Files: files, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return 0, refusedStart(path, &os.PathError{Op: "exec", Path: path, Err: err})
	}
	return pid, nil
}

// PID is the number of the program.
func (p *Program) PID() int { return p.guard.root }

// Events tells what becomes of the program. The program waits for its end and its
// deaths to be heard.
func (p *Program) Events() <-chan Event { return p.guard.events }

// Proceed lets a process die that is about to.
func (e Event) Proceed() {
	if e.proceed != nil {
		close(e.proceed)
	}
}

// Processes are the numbers of the program and of its descendants that run,
// ascending.
func (p *Program) Processes() []int {
	var list []int
	_ = p.guard.trace(p.guard.root, func(t *tracer) error {
		for pid := range t.guard.byPID {
			list = append(list, pid)
		}
		return nil
	})
	slices.Sort(list)
	return list
}

// Open opens the program or one of its descendants, as Open does. The process
// stays open if it becomes another program, and then is ErrExec like any.
func (p *Program) Open(pid int, opts Options) (*Process, error) {
	process, err := Open(pid, opts)
	if err == nil {
		process.guard = p.guard
	}
	return process, err
}
