package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// profileVerb returns the verb profile.
func (a *app) profileVerb() *cobra.Command {
	v := &profileFlags{app: a}
	cmd := &cobra.Command{
		Use: "profile PID | [flags] -- PROGRAM [ARG...]", Short: "Show where the time of a process goes: Work and Wait",
		Long: `Samples the states and the user-model stacks of the threads of a process, and prints where
their time goes: OpenMP Work and OpenMP Wait by parallel region and line, the time of the
waits by kind (barriers, locks with their names, critical sections, tasks, idle threads),
and the threads that come last at each barrier. The first lines are what costs most and the
usual fix. The program needs no preparation and is not restarted.

Together, Work and Wait are the time of all OpenMP threads. A thread waits while it sleeps
or spins for another thread, a task, a device or another process, while it is idle in the
runtime's pool, and while the runtime works for its own purposes.

Each sample stops the process for a moment. The time between samples adapts, so that the
stops take at most a 50th of the time, and so does what they and the samples' CPU time
together take from the program; the rate and the cost are printed. With --no-stop the
process is not stopped: states and stacks of threads that run are of different moments.

It ends when the time of --for is over, when the number of --samples is reached, with Ctrl-C,
or when the process ends. Of a program that it starts, the first process with an OpenMP
runtime is sampled; after --for, the program runs on without samples. The profile is printed
after its output on the standard error, or written to the file of --output.

Exit status: 0 the profile was printed, 1 the process could not be read, 2 wrong usage; of
a program, its own, and 125, 126 and 127 as those of run.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			return v.attach(ctx, args[0])
		},
	}
	cmd.Flags().DurationVar(&v.limit, "for", 0, "end after this time, such as 10s (0: at the end of the process, or "+
		"with Ctrl-C)")
	cmd.Flags().IntVar(&v.samples, "samples", 0, "end after this number of samples (0: no limit)")
	a.outputFlags(cmd)
	a.setView("profile", report.Profile)
	a.targeted(cmd)
	one, look := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case v.limit < 0:
			return usageError{fmt.Errorf("--for %v: it must not be negative", v.limit)}
		case v.samples < 0:
			return usageError{fmt.Errorf("--samples %d: it must not be negative", v.samples)}
		case cmd.ArgsLenAtDash() != 0:
			return one(cmd, args)
		case len(args) == 0:
			return usageError{errors.New("profile: which program? `ompd-inspect profile -- ./program arguments`")}
		case a.pid != 0:
			return usageError{errors.New("--pid and a program: one target at a time")}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.checkOutput(report.Profile); err != nil {
			return err
		}
		if cmd.ArgsLenAtDash() == 0 {
			return v.start(cmd.Context(), args)
		}
		return look(cmd, args)
	}
	return cmd
}

// profileFlags are the flags of profile.
type profileFlags struct {
	*app
	limit   time.Duration
	samples int
}

// options returns the options of a profile.
func (v *profileFlags) options() engine.ProfileOptions {
	return engine.ProfileOptions{For: v.limit, Samples: v.samples, Budget: v.budget}
}

// attach profiles a running process.
func (v *profileFlags) attach(ctx context.Context, name string) (err error) {
	t, err := v.openTarget(v.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	o := v.options()
	o.Started = func() { v.note("profiling %s; Ctrl-C ends it", name) }
	p, err := t.Profile(ctx, o)
	if errors.Is(err, engine.ErrNotWatched) {
		return usageError{fmt.Errorf("%s: it does not run, so that it has no profile: give the number of a process; "+
			"`ompd-inspect report %s` shows its threads and stacks at that moment", name, name)}
	}
	if ctx.Err() != nil && canceled(err) { // before the first sample
		fmt.Fprintln(v.Stderr, "ompd-inspect: interrupted")
		return statusError(ExitInterrupted)
	}
	if err != nil {
		return err
	}
	return v.show(p)
}

// show prints a profile.
func (v *profileFlags) show(p *picture.Profile) error {
	return v.printWith(v.Stdout, func(out report.Printer) error { return out.Profile(p) })
}

// start starts a program and profiles it.
func (v *profileFlags) start(ctx context.Context, argv []string) error {
	r := &runner{app: v.app, ended: map[int]bool{}}
	if err := r.usable("profile"); err != nil {
		return err
	}
	signals := r.catchSignals()
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil { // Ctrl-C came before the program started
		return err
	}
	var err error
	r.name = argv[0]
	launch := live.Launch{Argv: argv, Releasable: true}
	if r.program, err = launch.Start(); err != nil {
		fmt.Fprintf(v.Stderr, "ompd-inspect: %v\n", err)
		return startStatus(err)
	}
	r.pulse = newPulse(v.app, r.program, 0)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // signals are the program's from now on
	defer stop()
	result := make(chan started, 1)
	go func() { result <- v.follow(ctx, r.program) }()
	followed, shown := result, false
	var found started
	for {
		select {
		case found = <-followed:
			if followed = nil; v.toFile() {
				v.showStarted(found)
				shown = true
			} else if found.profile != nil && found.profile.End == picture.ProfileTimeOver {
				v.note("the profile is complete; it is printed when the program ends")
			}
		case s := <-signals:
			r.handleSignal(s.(unix.Signal))
		case e := <-r.program.Events():
			switch {
			case e.Ended:
				if stop(); followed != nil {
					if found = <-followed; found.profile != nil && found.profile.End == picture.ProfileInterrupted {
						found.profile.End = picture.ProfileExited // that interrupted it
					}
				}
				if !shown {
					v.showStarted(found)
				}
				return r.endStatus(e.Status)
			case e.Stopped:
				r.suspend()
			case e.Released:
				r.handleRelease()
			default:
				e.Proceed()
			}
		}
	}
}

// started is the profile of a program that was started; profile is nil without an OpenMP process.
type started struct {
	profile *picture.Profile
	err     error
}

// showStarted prints the profile of a program that has ended, or why there is none.
func (v *profileFlags) showStarted(s started) {
	switch {
	case s.profile != nil:
		out := *v
		app := *v.app
		app.Stdout, out.app = app.Stderr, &app
		if err := out.show(s.profile); err != nil {
			v.note("%v", err)
		}
	case s.err != nil:
		v.note("no profile: %v", s.err)
	default:
		v.note("no profile: no process of the program has loaded an OpenMP runtime, or it ended before the first " +
			"sample")
	}
}

// The time between two searches for an OpenMP process in a program grows from the first to the last one.
const firstSearch, lastSearch = 2 * time.Millisecond, 200 * time.Millisecond

// follow profiles the first process of a program that has an OpenMP runtime. A process that executes another program is
// searched again.
func (v *profileFlags) follow(ctx context.Context, program *live.Program) (s started) {
	for nap := firstSearch; ; nap = min(2*nap, lastSearch) {
		for _, pid := range program.Processes() {
			p, err := v.profileProcess(ctx, program, pid)
			if p != nil {
				s.profile = p
			}
			if err != nil && !engine.HasEnded(err) && !errors.Is(err, live.ErrExec) && ctx.Err() == nil {
				s.err = err
			}
			if p != nil && p.End != picture.ProfileExec {
				return s
			}
		}
		if !pause(ctx, nap) {
			return s
		}
	}
}

// profileProcess profiles a process of a program. It returns nil if the process has no OpenMP runtime.
func (v *profileFlags) profileProcess(ctx context.Context, program *live.Program, pid int) (p *picture.Profile,
	err error) {
	o := v.open.engineOptions()
	process, err := program.Open(pid, o.Live())
	if err != nil {
		return nil, err
	}
	t := engine.NewProcessTarget(process, nil, o)
	defer func() { err = errors.Join(err, t.Close()) }()
	if found, err := t.HasRuntime(ctx, v.budget); err != nil || !found {
		return nil, err
	}
	return t.Profile(ctx, v.options())
}
