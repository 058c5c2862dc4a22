package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// runVerb returns the verb run.
func (a *app) runVerb() *cobra.Command {
	r := &runner{app: a, ended: map[int]bool{}}
	cmd := &cobra.Command{
		Use: "run [flags] -- PROGRAM [ARG...]", Short: "Run a program; report when it crashes or hangs",
		Long: `Runs a program and prints the report when the program, or a process that it starts, is
about to die of a signal that dumps core (SIGSEGV, SIGABRT, SIGQUIT, ...), or when it makes
no progress for the time of --hang-after and cannot make any. A program that ends normally
is not disturbed, and nothing is printed.

The program has the terminal and the standard files of this command. Ctrl-C, Ctrl-\
and Ctrl-Z reach it. This command passes SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2
and SIGTSTP to the program: Ctrl-\ prints a report of a program that hangs. This command
stops and continues together with the program.

A process makes no progress if between snapshots no thread passed a barrier, changed its
task, region, stack, registers or the words of its frames, or recorded more than attempts
to acquire a lock. It is ended only if it also cannot make progress, which several snapshots
in a row must show: a verdict reports a hang; or each thread sleeps until another thread of
the process wakes it, or is in a loop that ends only when another thread writes memory. A
process is not ended while a thread computes, sleeps for a time, or waits for input, a
signal or another process, unless a verdict reports a hang. Processes without an OpenMP
runtime are not judged; if there are no others, a note says so. After the report the process
gets SIGTERM, and SIGKILL if it does not end.

The report is printed after the program's output, on the standard error or in the file of
--report. With --json, it is one JSON document for each reported process; use --report, as the
program may write to the standard error too. With --core, the process is also written to a
core file, in the state that the report shows.

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
			if err := r.usable("run"); err != nil {
				return err
			}
			return r.run(cmd.Context(), args)
		},
	}
	r.addFlags(cmd)
	return cmd
}

// usable returns an error if the flags are wrong, or if the verb does not work on this machine.
func (r *runner) usable(verb string) error {
	switch err := r.refuseRemote(verb); {
	case err != nil:
		return err
	case r.open.noStop:
		return usageError{errors.New("--no-stop: a program that is about to die is always stopped")}
	case r.hangAfter != 0 && r.hangAfter < minHang:
		return usageError{fmt.Errorf("--hang-after %v: it must be at least %v, or 0 for never", r.hangAfter, minHang)}
	}
	return nil
}

// addFlags adds the flags of run.
func (r *runner) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.DurationVar(&r.hangAfter, "hang-after", 0, "report and end a process that hangs: it made no progress for "+
		"this time, such as 30s, and cannot make any (0: never)")
	f.StringVar(&r.core, "core", "", "also write the reported process to this core file")
	f.StringVar(&r.report, "report", "", "write the report to this file, in place of the standard error")
	r.forceFlag(cmd)
}

// runner is one run of run or record.
type runner struct {
	*app
	name      string   // of the program, as on the command line
	env       []string // of the program; nil for that of this process
	report    string
	core      string
	cores     int    // number of cores written
	save      string // file for recorded events
	saves     int
	kept      map[int]bool // processes with written events
	lost      bool         // writing the events of a process failed, which was reported
	hangAfter time.Duration
	program   *live.Program
	pulse     *pulse
	written   []byte       // content of the file of reports
	ended     map[int]bool // processes that were ended because they made no progress
}

// run starts the program and waits for its end.
func (r *runner) run(ctx context.Context, argv []string) error {
	if err := r.check(); err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
		return statusError(ExitOwn)
	}
	signals := r.catchSignals()
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil { // Ctrl-C came before the program started
		return err
	}
	ctx = context.WithoutCancel(ctx) // signals are the program's from now on
	var err error
	r.name = argv[0]
	launch := live.Launch{Argv: argv, Env: r.env, Exits: r.save != "", Releasable: true}
	if r.program, err = launch.Start(); err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
		return startStatus(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.pulse = newPulse(r.app, r.program, r.hangAfter)
	if r.hangAfter > 0 {
		go r.pulse.watch(ctx)
	}
	for {
		select {
		case s := <-signals:
			r.handleSignal(s.(unix.Signal))
		case list := <-r.pulse.hung:
			if r.handleHang(ctx, list) {
				r.pulse.reset()
			}
		case e := <-r.program.Events():
			switch {
			case e.Ended:
				r.reportUnsaved(e.Left)
				r.pulse.reportUnjudged(r.hangAfter)
				return r.endStatus(e.Status)
			case e.Stopped:
				r.suspend()
				continue
			case e.Released:
				r.handleRelease()
				continue
			case e.Leaves:
				r.keep(e.PID)
				e.Proceed()
				continue
			}
			r.writeReport(ctx, e.PID, e.Death, nil)
			e.Proceed()
			r.pulse.reset()
		}
	}
}

// handleSignal handles a signal to this command.
func (r *runner) handleSignal(s unix.Signal) {
	switch s {
	case live.ReleaseSignal:
		r.program.Release()
		return
	case unix.SIGPIPE: // ignored, but this command must not end before the program
		return
	case unix.SIGTTIN, unix.SIGTTOU: // the program got the signal too, because it has used the terminal
	default:
		r.program.Pass(s)
	}
	if isStop(s) {
		r.program.AwaitStop()
	}
}

// isStop reports whether a signal is one with which a terminal stops programs.
func isStop(s os.Signal) bool { return s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU }

// suspend stops this command after a signal has stopped both it and the program, so that the shell gets the
// terminal back. It returns when both are continued. A program that was stopped alone is continued alone.
func (r *runner) suspend() {
	r.pulse.reset()
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // returns when this command is continued
	runtime.UnlockOSThread()
	r.program.Continue()
}

// caughtSignals is the number of signals that may wait until they are passed on. More are merged, as in the kernel.
const caughtSignals = 8

// catchSignals catches the signals that are meant for the program. The program inherits the signals that this
// command ignores.
func (r *runner) catchSignals() chan os.Signal {
	signals := r.Interrupts.take()
	for _, s := range []os.Signal{
		unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, live.ReleaseSignal,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// startStatus returns the exit status for a program that could not be started.
func startStatus(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return statusError(ExitNotFound)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EISDIR):
		return statusError(ExitNoExec)
	}
	return statusError(ExitOwn)
}

// endStatus returns the exit status for a program that has ended, as a shell reports it.
func (r *runner) endStatus(s unix.WaitStatus) error {
	switch {
	case len(r.ended) > 0:
		return statusError(ExitHang)
	case shellStatus(s) == 0:
		return nil
	}
	return statusError(shellStatus(s))
}

// writeCore writes the core of a process if --core is set. The first goes to that file, those of other
// processes append their number to the name.
func (r *runner) writeCore(p *live.Process, d *live.Death) (err error) {
	if r.core == "" {
		return nil
	}
	name := r.core
	if r.cores++; r.cores > 1 {
		name += fmt.Sprintf(".%d", p.Info().PID)
	}
	f, err := outfile.Create(name, r.coreOptions())
	if err != nil {
		return fmt.Errorf("core: %w", err)
	}
	if err := p.WriteCore(f.File, d); err != nil {
		return fmt.Errorf("core: %w", errors.Join(err, f.Discard()))
	}
	return f.Commit()
}

// coreOptions returns the options of core files. Only the owner may read them, because they contain the
// program's data. A core of an earlier run is replaced.
func (r *runner) coreOptions() outfile.Options {
	return outfile.Options{Mode: 0o600, Force: r.force, Ours: corefile.IsOwn}
}

// reportOptions returns the options of the file of reports.
func (r *runner) reportOptions() outfile.Options {
	return outfile.Options{Mode: 0o666, Force: r.force, Ours: ourReport}
}

// ourReport reports whether a file starts like a report, in text or in JSON.
func ourReport(f *os.File) bool {
	b := make([]byte, 64)
	n, _ := f.ReadAt(b, 0)
	return bytes.HasPrefix(b[:n], []byte("process ")) ||
		bytes.Contains(b[:n], []byte(`"schema": "`+picture.SchemaName+"/"))
}

// check returns an error if an output file could not be written later.
func (r *runner) check() error {
	var errs []error
	if r.report != "" {
		errs = append(errs, outfile.Check(r.report, r.reportOptions()))
	}
	if r.core != "" {
		errs = append(errs, outfile.Check(r.core, r.coreOptions()))
	}
	if r.save != "" {
		errs = append(errs, outfile.Check(r.save, r.coreOptions()))
	}
	return errors.Join(errs...)
}

// write writes a report to the file of --report, or to the standard error if that is unset or cannot be
// written.
func (r *runner) write(pic *picture.Picture) error {
	out := *r.app
	out.Stdout = r.Stderr
	if r.report == "" {
		return out.print(pic, report.Whole)
	}
	err := r.addReport(pic)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("report: %w; it follows here", err), out.print(pic, report.Whole))
}

// addReport writes a report into its file, after those that this run wrote before.
func (r *runner) addReport(pic *picture.Picture) error {
	o := r.reportOptions()
	if r.written != nil {
		o.Force = true // the existing file is ours
	}
	f, err := outfile.Create(r.report, o)
	if err != nil {
		return err
	}
	_, err = f.Write(r.written)
	out := *r.app
	out.Stdout = f.File
	if err = errors.Join(err, out.print(pic, report.Whole)); err != nil {
		return errors.Join(err, f.Discard())
	}
	all, err := io.ReadAll(io.NewSectionReader(f, 0, maxReports))
	if err = errors.Join(err, f.Commit()); err == nil {
		r.written = all
	}
	return err
}

// maxReports bounds the kept reports of one run, in bytes.
const maxReports = 256 << 20
