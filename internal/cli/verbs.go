package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sandbox"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// errReported is an error whose message is already printed.
var errReported = errors.New("already reported")

// ownWidth as width is that of the terminal.
const ownWidth = -1

// app is one run of the tool: how it was started and the values of its flags.
type app struct {
	Command
	style
	open        openOptions
	sandboxMode string
	locked      *sandbox.Report // nil if the process did not give up rights
	budget      time.Duration
	only        inspect.Only           // the one thread, region or task to show
	pid         processID              // of --pid; 0 without
	readsInput  bool                   // a core may come from the standard input
	views       map[string]report.View // by the verb that prints it
	beyond
	ctx context.Context // ends what is under way; nil means never
}

// style are the flags that say how answers are shown.
type style struct {
	json    bool
	form    string // the format; empty for that of people
	out     string // file to write; empty for the standard output
	force   bool   // files that others made may be replaced
	refresh int    // seconds after which a page that is served asks for a new look
	color   string
	width   int
	native  bool
	numbers bool
	all     bool
	sites   bool
}

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "ompd-inspect [verb] CORE|PID",
		Short: "See what an OpenMP program is doing, from the outside",
		Long: `ompd-inspect shows the threads, parallel regions, tasks, control variables and
stacks of an OpenMP program from its core file, or while it runs: on the runtime
as distributions ship it, without debug packages and without having prepared the
program. A running program is stopped for a moment only.

  ompd-inspect                      the processes that can be inspected
  ompd-inspect core.1234            the whole report of a core
  ompd-inspect 1234                 the same of a running process (or -p 1234)
  … | ompd-inspect -                the same of a core from a pipe
  ompd-inspect delve://HOST:PORT    the same of what a headless Delve holds
  ompd-inspect threads core.1234    one part of it
  ompd-inspect run -- ./program     run a program; report when it crashes or hangs

Exit status: 0 the target was read, 1 it could not be read, 2 wrong usage, 74 the output could not be written,
130 Ctrl-C ended it, 3 diagnose found a hang or watch no progress (watch has more, see its help).`,
		Version:       a.Version,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ps(cmd.Context(), defaultSample) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.ValidArgsFunction = a.completeTarget
	a.addPIDFlag(root) // for the help; report has it too
	f := root.PersistentFlags()
	f.StringVar(&a.open.exe, "exe", "", "the program's executable, if it is not where the core says")
	f.StringVar(&a.open.sysroot, "sysroot", "", "directory below which the files of the core's machine lie")
	f.StringArrayVar(&a.open.debugDirs, "debug-dir", []string{"/usr/lib/debug"},
		"directory of separate debug files (may be repeated)")
	f.BoolVar(&a.open.noDebuginfod, "no-debuginfod", false, "ask no debuginfod server, even if DEBUGINFOD_URLS is set")
	f.BoolVar(&a.open.noStop, "no-stop", false, "stop no thread of a process; what changes meanwhile is said to be "+
		"unsettled")
	f.DurationVar(&a.budget, "budget", session.DefaultBudget, "processor time that a look may take, 0 for any; what "+
		"was not reached is said (a server has its own)")
	a.open.maxMemory = budget.DefaultMemory
	f.Var(&a.open.maxMemory, "max-memory", "memory that a target may make this process hold, 0 for any; what was "+
		"left out is said (a server has its own: for all targets of one user)")
	f.StringVar(&a.sandboxMode, "sandbox", string(sandbox.Auto), "auto, require or off: give up all rights that "+
		"reading a core does not need")
	f.BoolVar(&a.json, "json", false, "print JSON (proto/picture.schema.json): as --format json")
	f.StringVar(&a.form, "format", "", "text, json, html (a page), dot (the wait-for graph), folded or speedscope "+
		"(the merged stacks)")
	f.StringVar(&a.color, "color", "auto", "auto, always or never")
	f.IntVar(&a.width, "width", ownWidth, "columns that the output fits in, 0 for any; without it, those of the "+
		"terminal")
	a.beyond.flags(root)
	for _, v := range a.verbs() {
		v.Example = cmp.Or(v.Example, examples[v.Name()])
		root.AddCommand(v)
	}
	return root
}

// verbs are the verbs in the order of the help text.
func (a *app) verbs() []*cobra.Command {
	whole := a.reportVerb()
	whole.Flags().BoolVar(&a.native, "native", false, "show native stacks, runtime frames too")
	a.htmlFlag(whole)
	regions := a.verb("regions", "The tree of parallel regions", inspect.Parts{Regions: true}, report.Regions)
	threads := a.pictureVerb("threads", "The threads: role, number and team, state, what they wait on and hold",
		session.Question{Parts: inspect.Parts{Threads: true, Regions: true}, Verdicts: true}, report.Threads)
	for _, v := range []*cobra.Command{threads, regions} {
		v.Flags().BoolVar(&a.numbers, "numbers", false, "number the regions, and name threads by region and number, "+
			"such as 2.1")
	}
	stacks := a.verb("stacks", "User-model stacks, merged", inspect.Parts{Threads: true, Stacks: true}, report.Stacks)
	stacks.Flags().BoolVar(&a.native, "native", false, "show native stacks, runtime frames too")
	for _, v := range []*cobra.Command{whole, stacks} {
		a.outputFlags(v)
	}
	for _, v := range []*cobra.Command{whole, threads, regions, stacks} {
		onlyFlags(v, &a.only)
		v.Flags().BoolVar(&a.all, "all", false, "fold nothing: one line for each thread, task and frame, also where "+
			"many are alike")
	}
	return []*cobra.Command{
		whole, a.diagnoseVerb(), threads, regions, a.tasksVerb(), a.icvsVerb(), stacks,
		a.breakpointsVerb(), a.layoutVerb(), a.doctorVerb(), a.versionVerb(),
		dlvVerb(a), a.psVerb(), a.watchVerb(), a.runVerb(), a.recordVerb(), traceVerb(a),
		a.symbolsVerb(), a.serveVerb(), jobVerb(a), jobNodeVerb(a), a.dapVerb(), viewVerb(a), a.libompdVerb(),
	}
}

// verb makes a verb that prints parts of a picture of one target.
func (a *app) verb(name, short string, want inspect.Parts, v report.View) *cobra.Command {
	return a.pictureVerb(name, short, session.Question{Parts: want}, v)
}

// pictureVerb makes a verb that makes a picture and prints it.
func (a *app) pictureVerb(name, short string, want session.Question, v report.View) *cobra.Command {
	a.show(name, v)
	return a.targeted(&cobra.Command{
		Use: name + " CORE|PID", Short: short,
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := ofOne(a.withNative(want), a.only, v == report.Whole || a.numbers)
			if err != nil {
				return err
			}
			if v == report.Whole && !q.All() {
				v = report.Part
			}
			if err := a.checkOutput(v); err != nil {
				return err
			}
			return a.seePicture(args[0], q, func(pic *picture.Picture) error { return a.print(pic, v) })
		},
	})
}

// show notes which part of a picture a verb prints.
func (a *app) show(verb string, v report.View) {
	if a.views == nil {
		a.views = map[string]report.View{}
	}
	a.views[verb] = v
}

// withNative adds native stacks to what is wanted, if threads are: people ask for
// them, programs take what they need.
func (s *style) withNative(want session.Question) session.Question {
	want.Native = want.Threads && (s.native || s.isJSON())
	return want
}

func (a *app) icvsVerb() *cobra.Command {
	return a.pictureVerb("icvs", "Every internal control variable, by scope, and where it was read",
		session.Question{Parts: inspect.Parts{ICVs: true}}, report.ICVs)
}

// layoutSources are the values of --source.
var layoutSources = []string{"symbols", "memory", "debuginfo", "code", "table"}

func (a *app) layoutVerb() *cobra.Command {
	cmd := a.pictureVerb("layout", "Where every field lies, which source gave it and which agreed",
		session.Question{Layout: true}, report.Layout)
	list := strings.Join(layoutSources, ", ")
	cmd.Flags().StringArrayVar(&a.open.sources, "source", nil, "use only this source: "+list+" (may be repeated)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, s := range a.open.sources {
			if !slices.Contains(layoutSources, s) {
				return usageError{fmt.Errorf("--source %q: it is one of %s", s, list)}
			}
		}
		return nil
	}
	return cmd
}

func (a *app) doctorVerb() *cobra.Command {
	return a.pictureVerb("doctor", "What this target allows; for what is missing, the cause and the fix",
		session.Question{Checks: true}, report.Doctor)
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "The version of this tool, and what it reads", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit"`
				Go      string `json:"go"`
				Schema  string `json:"schema"`
				Reads   string `json:"reads"`
			}{a.Version, a.Commit, "", picture.Schema, readers.Reads()}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Go = info.GoVersion
			}
			if a.isJSON() {
				return report.WriteJSON(a.Stdout, v)
			}
			_, err := fmt.Fprintf(a.Stdout, "ompd-inspect %s (commit %s, %s)\nschema %s\nreads %s\n", v.Version,
				v.Commit, v.Go, v.Schema, v.Reads)
			return err
		},
	}
}

// printer returns a printer on out, in the format that was asked for
// and as people can see it there.
func (s *style) printer(out *os.File) (report.Printer, error) {
	format, err := s.format()
	if err != nil {
		return nil, err
	}
	o, err := s.printerOptions(out)
	if err != nil {
		return nil, err
	}
	return report.New(format, out, o)
}

// printerOptions say how people can see what is printed on out.
func (s *style) printerOptions(out *os.File) (report.Options, error) {
	o := report.Options{
		All: s.all, Native: s.native, Numbers: s.numbers, Sites: s.sites, Source: openSource, Refresh: s.refresh,
	}
	fd := int(out.Fd())
	tty := term.IsTerminal(fd)
	if s.width >= 0 {
		o.Width = s.width
	} else if tty {
		if w, _, err := term.GetSize(fd); err == nil {
			o.Width = w
		}
	}
	switch s.color {
	case "auto":
		o.Color = tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always":
		o.Color = true
	case "never":
	default:
		return o, usageError{fmt.Errorf("--color %q: it is auto, always or never", s.color)}
	}
	return o, nil
}
