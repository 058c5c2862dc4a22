package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// launched is a program that was started for a client of the adapter.
type launched struct {
	*runner
	events chan dap.Event
	cancel context.CancelFunc
	copied sync.WaitGroup // copies the program's output
	over   chan struct{}  // closed after the program has ended

	mu    sync.Mutex
	death *live.Event // the process that is stopped before it dies, or nil
}

// launch starts a program for a client of the adapter.
func (e editors) launch(c dap.Launch, stdout, stderr func(string)) (dap.Program, error) {
	after := time.Duration(c.HangAfter)
	if after != 0 && after < minHang {
		return nil, fmt.Errorf("hangAfter %v: it must be at least %v, or 0 for never", after, minHang)
	}
	if err := checkDirectory(c.Cwd); err != nil {
		return nil, err
	}
	r := &runner{app: e.runFor(c.Attach), hangAfter: after, ended: map[int]bool{}}
	l := &launched{runner: r, events: make(chan dap.Event), over: make(chan struct{})}
	start, ends, err := l.makeFiles(stdout, stderr)
	if err == nil {
		start.Argv, start.Env, start.Dir = append([]string{c.Program}, c.Args...), changedEnviron(c.Env), c.Cwd
		if strings.Contains(c.Program, "/") && !filepath.IsAbs(c.Program) {
			start.Argv[0] = filepath.Join(c.Cwd, c.Program)
		}
		r.program, err = start.Start()
	}
	for _, f := range start.Files {
		f.Close() // the program has its own copy
	}
	if err != nil {
		closeFiles(ends)
		return nil, err
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	r.pulse = newPulse(r.app, r.program, after)
	if after > 0 {
		go func() { logPanic(r.Stderr, contain.Run(func() error { r.pulse.watch(ctx); return nil })) }()
	}
	go func() { logPanic(r.Stderr, contain.Run(func() error { l.watch(ctx, ends); return nil })) }()
	return l, nil
}

// checkDirectory returns an error for a working directory that does not exist: that of a start would name the program.
func checkDirectory(cwd string) error {
	if cwd == "" {
		return nil
	}
	info, err := os.Stat(cwd)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: %w", cwd, unix.ENOTDIR)
	}
	if err != nil {
		return fmt.Errorf("launch: cwd: %w", err)
	}
	return nil
}

// changedEnviron returns the environment of this process with changes applied. A nil value removes a variable.
func changedEnviron(changes map[string]*string) []string {
	var out []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if _, changed := changes[name]; !changed {
			out = append(out, e)
		}
	}
	for name, value := range changes {
		if value != nil {
			out = append(out, name+"="+*value)
		}
	}
	return out
}

// makeFiles creates the standard files of the program. ends are the read ends of its outputs.
func (l *launched) makeFiles(stdout, stderr func(string)) (start live.Launch, ends []*os.File, err error) {
	if start.Files[0], err = os.Open(os.DevNull); err != nil {
		return start, nil, err
	}
	for i, to := range []func(string){stdout, stderr} {
		end, theirs, err := os.Pipe()
		if err != nil {
			return start, ends, err
		}
		start.Files[i+1], ends = theirs, append(ends, end)
		l.copied.Go(func() { copyText(end, to) })
	}
	return start, ends, nil
}

// copyText passes the text from a file to a function until the end of the file.
func copyText(from *os.File, to func(string)) {
	b := make([]byte, 4<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			to(string(b[:n]))
		}
		if err != nil {
			return
		}
	}
}

// outputWait is the time to wait for the program's last output. The output is already in the pipe, but
// processes that the program leaves may keep the pipe open.
const outputWait = 100 * time.Millisecond

// closeFiles closes files, which ends the reading of them.
func closeFiles(list []*os.File) {
	for _, f := range list {
		f.Close()
	}
}

// watch reports the events of the program until its end.
func (l *launched) watch(ctx context.Context, ends []*os.File) {
	defer close(l.over)
	defer l.cancel()
	for {
		select {
		case list := <-l.pulse.hung:
			if list = l.reportOrder(list); len(list) > 0 {
				l.pulse.reset()
				l.inform(ctx, dap.Event{PID: list[0].pid, Hung: l.hangAfter})
			}
		case e := <-l.program.Events():
			switch {
			case e.Ended:
				for _, f := range ends {
					_ = f.SetReadDeadline(time.Now().Add(outputWait))
				}
				l.copied.Wait()
				closeFiles(ends)
				l.inform(ctx, dap.Event{PID: e.PID, Ended: true, Status: shellStatus(e.Status)})
				return
			case e.Stopped: // stopped by job control, which also continues it
			default:
				l.reportDeath(ctx, e)
			}
		}
	}
}

// inform sends an event to the client. It returns false if the client has disconnected.
func (l *launched) inform(ctx context.Context, e dap.Event) bool {
	select {
	case l.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// reportDeath reports a process that is about to die, and waits until it is continued.
func (l *launched) reportDeath(ctx context.Context, e live.Event) {
	l.setDeath(&e)
	may := make(chan struct{})
	proceed := sync.OnceFunc(func() { close(may) })
	if l.inform(ctx, dap.Event{PID: e.PID, Death: true, Proceed: proceed}) {
		select {
		case <-may:
		case <-ctx.Done():
		}
	}
	l.setDeath(nil)
	e.Proceed()
	l.pulse.reset()
}

func (l *launched) setDeath(e *live.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.death = e
}

// shellStatus returns the exit status of a program as a shell reports it.
func shellStatus(s unix.WaitStatus) int {
	if s.Signaled() {
		return ExitSignal + int(s.Signal())
	}
	return s.ExitStatus()
}

// PID returns the program's number.
func (l *launched) PID() int { return l.program.PID() }

// Events returns the channel of the program's events.
func (l *launched) Events() <-chan dap.Event { return l.events }

// Open opens a process of the program as a target.
func (l *launched) Open(pid int) (*engine.Target, error) {
	o := l.open.engineOptions()
	p, err := l.program.Open(pid, o.Live())
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var death *live.Death
	if l.death != nil && l.death.PID == pid {
		death = l.death.Death
	}
	return engine.NewProcessTarget(p, death, o), nil
}

// Signal asks the program to end; with force, it kills it.
func (l *launched) Signal(force bool) {
	if !force {
		_ = unix.Kill(l.program.PID(), unix.SIGTERM)
		return
	}
	for _, pid := range l.program.Processes() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// Close ends the program and all processes that it started.
func (l *launched) Close() error {
	l.cancel()
	l.Signal(true)
	<-l.over
	return nil
}
