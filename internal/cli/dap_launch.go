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

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// launched is a program that was started for a client of the adapter.
type launched struct {
	*runner
	events chan dap.Event
	cancel context.CancelFunc
	copied sync.WaitGroup // what it writes
	over   chan struct{}  // closed when it has ended

	mu    sync.Mutex
	death *live.Event // the process that stands still before it dies; nil if none does
}

// launch starts a program for a client of the adapter.
func (e editors) launch(c dap.Launch, stdout, stderr func(string)) (dap.Program, error) {
	after := time.Duration(c.HangAfter)
	if after != 0 && after < minHang {
		return nil, fmt.Errorf("hangAfter %v: it is at least %v, or 0 for never", after, minHang)
	}
	r := &runner{app: e.one(c.Attach), hangAfter: after, ended: map[int]bool{}}
	l := &launched{runner: r, events: make(chan dap.Event), over: make(chan struct{})}
	start, ends, err := l.files(stdout, stderr)
	if err == nil {
		start.Argv, start.Env, start.Dir = append([]string{c.Program}, c.Args...), environment(c.Env), c.Cwd
		if strings.Contains(c.Program, "/") && !filepath.IsAbs(c.Program) {
			start.Argv[0] = filepath.Join(c.Cwd, c.Program)
		}
		r.program, err = start.Start()
	}
	for _, f := range start.Files {
		f.Close() // the program has its own
	}
	if err != nil {
		closeFiles(ends)
		return nil, err
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	r.pulse = &pulse{app: r.app, program: r.program, after: after, hung: make(chan []hang)}
	if after > 0 {
		go func() { noted(r.Stderr, contain.Run(func() error { r.pulse.watch(ctx); return nil })) }()
	}
	go func() { noted(r.Stderr, contain.Run(func() error { l.watch(ctx, ends); return nil })) }()
	return l, nil
}

// environment is that of this process, changed.
func environment(changes map[string]*string) []string {
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

// files makes the standard files of the program, of which the ends are read here.
func (l *launched) files(stdout, stderr func(string)) (start live.Launch, ends []*os.File, err error) {
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

// copyText gives what is read of a file to a function, until it ends.
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

// lastWords is how long is waited for what a program wrote before its end: it is there
// already, but processes that it leaves behind may keep its files open.
const lastWords = 100 * time.Millisecond

// closeFiles ends the reading of files.
func closeFiles(list []*os.File) {
	for _, f := range list {
		f.Close()
	}
}

// watch tells what becomes of the program.
func (l *launched) watch(ctx context.Context, ends []*os.File) {
	defer close(l.over)
	defer l.cancel()
	for {
		select {
		case list := <-l.pulse.hung:
			if list = l.ordered(list); len(list) > 0 {
				l.pulse.reset()
				l.inform(ctx, dap.Event{PID: list[0].pid, Hung: l.hangAfter})
			}
		case e := <-l.program.Events():
			switch {
			case e.Ended:
				for _, f := range ends {
					_ = f.SetReadDeadline(time.Now().Add(lastWords))
				}
				l.copied.Wait()
				closeFiles(ends)
				l.inform(ctx, dap.Event{PID: e.PID, Ended: true, Status: shellStatus(e.Status)})
				return
			case e.Stopped: // by job control, which goes on by itself
			default:
				l.dies(ctx, e)
			}
		}
	}
}

// inform tells of an event, unless nobody listens any more.
func (l *launched) inform(ctx context.Context, e dap.Event) bool {
	select {
	case l.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// dies tells of a process that is about to die, and waits until it may.
func (l *launched) dies(ctx context.Context, e live.Event) {
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

// shellStatus is how a program ended, as a shell has it.
func shellStatus(s unix.WaitStatus) int {
	if s.Signaled() {
		return ExitSignal + int(s.Signal())
	}
	return s.ExitStatus()
}

// PID is the program's number.
func (l *launched) PID() int { return l.program.PID() }

// Events tells what becomes of it.
func (l *launched) Events() <-chan dap.Event { return l.events }

// Open opens a process of it.
func (l *launched) Open(pid int) (*session.Target, error) {
	o := l.open.session()
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
	return session.OfProcess(p, death, o), nil
}

// Signal asks it to end, or ends it.
func (l *launched) Signal(force bool) {
	if !force {
		_ = unix.Kill(l.program.PID(), unix.SIGTERM)
		return
	}
	for _, pid := range l.program.Processes() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// Close ends it with all that it has started.
func (l *launched) Close() error {
	l.cancel()
	l.Signal(true)
	<-l.over
	return nil
}
