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

// runVerb runs a program and reports when it crashes or hangs.
func (a *app) runVerb() *cobra.Command {
	r := &runner{app: a, ended: map[int]bool{}}
	cmd := &cobra.Command{
		Use: "run [flags] -- PROGRAM [ARG...]", Short: "Run a program; report when it crashes or hangs",
		Long: `Runs a program and prints the report when it, or a process that it starts, is about
to die of a signal that dumps core (SIGSEGV, SIGABRT, SIGQUIT, ...), or when it makes
no progress for the time of --hang-after and cannot make any. A program that ends by itself is not
disturbed, and nothing is printed.

The program has the terminal and the standard files of this command. Ctrl-C, Ctrl-\
and Ctrl-Z reach it, and SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and
SIGTSTP that are sent to this command are passed on: Ctrl-\ gives a report of a
program that hangs. This command stops and goes on with the program.

A process makes no progress if between looks no thread passed a barrier, changed its
task, region, stack, registers or the words of its frames, or recorded more than
attempts to acquire a lock. It is ended if it also cannot make any, which several
looks in a row must show: a verdict says that it hangs; or each thread sleeps until
another thread of the process wakes it, or is in a loop whose code ends only when
another thread writes memory. A thread that computes, sleeps for a time, or waits for
input, a signal or another process keeps the process from being ended, unless a
verdict says that it hangs. Processes without an OpenMP runtime are not judged. After
the report the process gets SIGTERM, and SIGKILL if it does not end.

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
			if err := r.usable("run"); err != nil {
				return err
			}
			return r.run(context.WithoutCancel(cmd.Context()), args) // signals are the program's
		},
	}
	r.flags(cmd)
	return cmd
}

// usable reports what is wrong with the flags, and whether the verb works here at all.
func (r *runner) usable(verb string) error {
	switch err := r.here(verb); {
	case err != nil:
		return err
	case r.open.noStop:
		return usageError{errors.New("--no-stop: a program that is about to die is always stopped")}
	case r.hangAfter != 0 && r.hangAfter < minHang:
		return usageError{fmt.Errorf("--hang-after %v: it is at least %v, or 0 for never", r.hangAfter, minHang)}
	}
	return nil
}

// flags are the flags of run.
func (r *runner) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.DurationVar(&r.hangAfter, "hang-after", 0, "report and end a process that hangs: it made no progress for "+
		"this time, such as 30s, and cannot make any; 0: never")
	f.StringVar(&r.core, "core", "", "write the process that is reported to this core file, too")
	f.StringVar(&r.report, "report", "", "file for the report, in place of the standard error")
	r.forceFlag(cmd)
}

// runner is one run of run or record.
type runner struct {
	*app
	env       []string // of the program; this process's if it is nil
	report    string
	core      string
	cores     int    // that were written
	save      string // for what was recorded
	saves     int
	kept      map[int]bool // processes of which it was written
	lost      bool         // it could not be written of a process, which was told
	hangAfter time.Duration
	program   *live.Program
	pulse     *pulse
	written   []byte       // what is in the file of reports
	ended     map[int]bool // processes that were ended as they made no progress
}

// run starts the program and waits for its end.
func (r *runner) run(ctx context.Context, argv []string) error {
	if err := r.check(); err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
		return statusError(ExitOwn)
	}
	signals := heed()
	defer signal.Stop(signals)
	var err error
	if r.program, err = (live.Launch{Argv: argv, Env: r.env, Exits: r.save != ""}).Start(); err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
		return startStatus(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.pulse = &pulse{app: r.app, program: r.program, after: r.hangAfter, hung: make(chan []hang)}
	if r.hangAfter > 0 {
		go r.pulse.watch(ctx)
	}
	for {
		select {
		case s := <-signals:
			r.heard(s.(unix.Signal))
		case list := <-r.pulse.hung:
			if r.hang(ctx, list) {
				r.pulse.reset()
			}
		case e := <-r.program.Events():
			switch {
			case e.Ended:
				r.unsaved(e.Left)
				return r.endStatus(e.Status)
			case e.Stopped:
				r.suspend()
				continue
			case e.Leaves:
				r.keep(e.PID)
				e.Proceed()
				continue
			}
			r.tell(ctx, e.PID, e.Death, nil)
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
		return statusError(ExitNotFound)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EISDIR):
		return statusError(ExitNoExec)
	}
	return statusError(ExitOwn)
}

// endStatus is the exit status for a program that has ended, as a shell gives it.
func (r *runner) endStatus(s unix.WaitStatus) error {
	switch {
	case len(r.ended) > 0:
		return statusError(ExitHang)
	case shellStatus(s) == 0:
		return nil
	}
	return statusError(shellStatus(s))
}

// writeCore writes the core of a process, if one is wanted: the first into the file
// of that name, those of other processes with their numbers behind it.
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

// coreOptions are those of a core: only its owner may read it, as it has all that the
// program knows, and one of another run is replaced.
func (r *runner) coreOptions() outfile.Options {
	return outfile.Options{Mode: 0o600, Force: r.force, Ours: corefile.IsOwn}
}

// reportOptions are those of the file for reports.
func (r *runner) reportOptions() outfile.Options {
	return outfile.Options{Mode: 0o666, Force: r.force, Ours: ourReport}
}

// ourReport reports whether a file begins as reports do, in text or in JSON.
func ourReport(f *os.File) bool {
	b := make([]byte, 64)
	n, _ := f.ReadAt(b, 0)
	return bytes.HasPrefix(b[:n], []byte("process ")) ||
		bytes.Contains(b[:n], []byte(`"schema": "`+picture.SchemaName+"/"))
}

// check says at the start what of a report could not be written at its end.
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

// write writes a report to where it belongs: the standard error, also if its file cannot
// be written.
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

// addReport writes a report into its file, behind those that this run wrote before.
func (r *runner) addReport(pic *picture.Picture) error {
	o := r.reportOptions()
	if r.written != nil {
		o.Force = true // what is there is ours
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

// maxReports bounds what of the reports of one run is kept, in bytes.
const maxReports = 256 << 20
