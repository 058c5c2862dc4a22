package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// Exit statuses of run beside those of the program. They are those of timeout(1),
// env(1) and their like, which programs do not use.
const (
	exitHang     = 124 // the program made no progress, and was ended
	exitOwn      = 125 // run itself failed
	exitNoExec   = 126 // the program is there and cannot be run
	exitNotFound = 127
	exitSignal   = 128 // plus the number of the signal that ended the program
)

// killAfter is the time that a process has to end on SIGTERM.
const killAfter = 5 * time.Second

// runVerb runs a program and reports when it crashes or hangs.
func (a *app) runVerb() *cobra.Command {
	r := &runner{app: a, ended: map[int]bool{}}
	cmd := &cobra.Command{
		Use: "run [flags] -- PROGRAM [ARG...]", Short: "Run a program; report when it crashes or hangs",
		Long: `Runs a program and prints the report when it, or a process that it starts, is about
to die of a signal that dumps core (SIGSEGV, SIGABRT, SIGQUIT, ...), or when it makes
no progress for the time of --hang-after. A program that ends by itself is not
disturbed, and nothing is printed.

The program has the terminal and the standard files of this command. Ctrl-C, Ctrl-\
and Ctrl-Z reach it, and SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and
SIGTSTP that are sent to this command are passed on: Ctrl-\ gives a report of a
program that hangs. This command stops and goes on with the program.

A process makes no progress if between looks no thread passed a barrier, changed its
task, region or stack, or computed in the program's own code: all wait, or use
processors in waits of the runtime only. A process that waits for input, or for
another process, makes none either. Processes without an OpenMP runtime are not
judged. After the report the process gets SIGTERM, and SIGKILL if it does not end.

The report comes after what the program wrote, on the standard error, or in the
file of --report. With --core, the process is also written to a core file, as it was
at that moment.

Exit status: the program's own; 128 plus the number of the signal that ended it;
124 it, or a process that it started, made no progress and was ended; 125 this
command failed, 126 the program cannot be run, 127 it was not found.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("run: which program? `ompd-inspect run -- ./program arguments`")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.here("run"); err != nil {
				return err
			}
			switch {
			case a.open.noStop:
				return usageError{errors.New("--no-stop: a program that is about to die is always stopped")}
			case r.hangAfter != 0 && r.hangAfter < minHang:
				return usageError{fmt.Errorf("--hang-after %v: it is at least %v, or 0 for never", r.hangAfter, minHang)}
			}
			return r.run(cmd.Context(), args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().DurationVar(&r.hangAfter, "hang-after", 0, "report and end a process that makes no progress for this time, such as 30s; 0: never")
	cmd.Flags().StringVar(&r.core, "core", "", "write the process that is reported to this core file, too")
	cmd.Flags().StringVar(&r.report, "report", "", "file for the report, in place of the standard error")
	return cmd
}

// runner is one run of run.
type runner struct {
	*app
	report    string
	core      string
	cores     int // that were written
	hangAfter time.Duration
	program   *live.Program
	pulse     *pulse
	written   bool         // a report is in the file
	ended     map[int]bool // processes that were ended as they made no progress
}

// run starts the program and waits for its end.
func (r *runner) run(ctx context.Context, argv []string) error {
	signals := heed()
	defer signal.Stop(signals)
	var err error
	if r.program, err = live.Start(argv); err != nil {
		fmt.Fprintf(r.stderr, "ompd-inspect: %v\n", err)
		return startStatus(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.pulse = &pulse{app: r.app, program: r.program, after: r.hangAfter, hung: make(chan int)}
	if r.hangAfter > 0 {
		go r.pulse.watch(ctx)
	}
	for {
		select {
		case s := <-signals:
			r.heard(s.(unix.Signal))
		case pid := <-r.pulse.hung:
			r.end(ctx, pid)
			r.pulse.reset()
		case e := <-r.program.Events():
			switch {
			case e.Ended:
				return r.endStatus(e.Status)
			case e.Stopped:
				r.suspend()
				continue
			}
			r.tell(ctx, e.PID, e.Death)
			e.Proceed()
			r.pulse.reset()
		}
	}
}

// heard does what a signal to this command asks for.
func (r *runner) heard(s unix.Signal) {
	switch s {
	case unix.SIGPIPE: // it only must not end this command before the program
		return
	case unix.SIGTTIN, unix.SIGTTOU: // the program got one, too: it has used the terminal
	default:
		r.program.Pass(s)
	}
	if isStop(s) {
		r.program.AwaitStop()
	}
}

// isStop tells the signals by which a terminal stops programs.
func isStop(s os.Signal) bool { return s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU }

// suspend stops this command as it was told to and the program has stopped, so that
// a shell gets the terminal back. It returns when both are continued. A program that
// was stopped alone is continued alone.
func (r *runner) suspend() {
	r.pulse.reset()
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // returns when it is continued
	runtime.UnlockOSThread()
	r.program.Continue()
}

// end reports a process that makes no progress, and ends it.
func (r *runner) end(ctx context.Context, pid int) {
	if r.ended[pid] {
		return
	}
	r.ended[pid] = true
	fmt.Fprintf(r.stderr, "ompd-inspect: process %d made no progress for %v\n", pid, r.hangAfter)
	r.tell(ctx, pid, nil)
	_ = unix.Kill(pid, unix.SIGTERM)
	time.AfterFunc(killAfter, func() {
		if slices.Contains(r.program.Processes(), pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	})
}

// heed takes over the signals that are meant for the program. What this command was
// told to ignore, the program ignores too.
func heed() chan os.Signal {
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{
		unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// startStatus is the exit status for a program that did not start.
func startStatus(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return statusError(exitNotFound)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EISDIR):
		return statusError(exitNoExec)
	}
	return statusError(exitOwn)
}

// endStatus is the exit status for a program that has ended, as a shell gives it.
func (r *runner) endStatus(s unix.WaitStatus) error {
	switch {
	case len(r.ended) > 0:
		return statusError(exitHang)
	case s.Signaled():
		return statusError(exitSignal + int(s.Signal()))
	case s.ExitStatus() == 0:
		return nil
	}
	return statusError(s.ExitStatus())
}

// tell prints the report of a process that stands still. What goes wrong is told
// and does not end the program.
func (r *runner) tell(ctx context.Context, pid int, d *live.Death) {
	if err := r.tellOrFail(ctx, pid, d); err != nil {
		fmt.Fprintf(r.stderr, "ompd-inspect: report of process %d: %v\n", pid, err)
	}
}

func (r *runner) tellOrFail(ctx context.Context, pid int, d *live.Death) (err error) {
	p, err := r.program.Open(pid, r.liveOptions())
	if err != nil {
		return err
	}
	t := &liveTarget{p: p, death: d}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := p.Stop(ctx); err != nil {
		return err
	}
	var pic *inspect.Picture
	want := r.withNative(wanted{Parts: inspect.ReportParts(), verdicts: true})
	in, done, err := r.lookAt(ctx, t, question{read: func(in *inspect.Inspector) { pic = want.of(in) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	in.Complete(pic)
	return errors.Join(r.write(pic), r.writeCore(t))
}

// writeCore writes the core of a process, if one is wanted: the first into the file
// of that name, those of other processes with their numbers behind it.
func (r *runner) writeCore(t *liveTarget) (err error) {
	if r.core == "" {
		return nil
	}
	name := r.core
	if r.cores++; r.cores > 1 {
		name += fmt.Sprintf(".%d", t.p.Info().PID)
	}
	f, err := createCore(name)
	if err != nil {
		return err
	}
	if err = errors.Join(t.p.WriteCore(f, t.death), f.Close()); err != nil {
		return fmt.Errorf("core: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}

// createCore makes an empty file for a core that only its owner may read: it has all
// that the program knows. What is there and is no file stays what it is.
func createCore(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("core: %s is there and not a file", name)
	case err == nil:
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// write writes a report to where it belongs.
func (r *runner) write(pic *inspect.Picture) (err error) {
	out := *r.app
	out.stdout = r.stderr
	if r.report != "" {
		mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
		if !r.written {
			mode |= os.O_TRUNC
		}
		if out.stdout, err = os.OpenFile(r.report, mode, 0o666); err != nil {
			return err
		}
		r.written = true
		defer func() { err = errors.Join(err, out.stdout.Close()) }()
	}
	return out.print(pic, out.printReport)
}
