package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sandbox"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// errReported is an error that is already printed.
var errReported = errors.New("already reported")

// app is one run of the tool: how it was started and the values of its flags.
type app struct {
	Command
	style
	open        openOptions
	sandboxMode string
	locked      *sandbox.Report // nil if the process did not give up rights
	budget      time.Duration
	only        picture.Only           // the one thread, region or task to show
	stateNames  *legacy.Document       // document that names states; nil if unset
	pid         processID              // value of --pid; 0 if unset
	readsInput  bool                   // a core may be read from the standard input
	views       map[string]report.View // by the name of the verb
	beyond
	ctx context.Context // canceled to end the current operation; nil means never
}

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "ompd-inspect [verb] CORE|PID",
		Short: "See what an OpenMP program is doing, from the outside",
		Long: `ompd-inspect shows the threads, parallel regions, tasks, control variables and
stacks of an OpenMP program, from its core file or while it runs. It works with the
runtime that the distribution ships: it needs no debug packages, and the program
needs no preparation. A running program is stopped for a moment only.

  ompd-inspect                      list the processes that can be inspected
  ompd-inspect core.1234            report on a core file
  ompd-inspect 1234                 report on a running process (or -p 1234)
  … | ompd-inspect -                report on a core file that is read from a pipe
  ompd-inspect delve://HOST:PORT    report on a program under a headless Delve
  ompd-inspect threads core.1234    show one part of the report
  ompd-inspect run -- ./program     run a program; report when it crashes or hangs

Exit status: 0 the target was read, 1 it could not be read, 2 wrong usage, 74 the output could not be written,
130 Ctrl-C ended it, 3 diagnose found a hang or watch no progress, 4 diagnose found a crash (watch has more,
see its help).`,
		Version:       a.Version,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ps(cmd.Context(), defaultSample) },
	}
	if a.tool, a.now = a.Version, a.Now; a.now == nil {
		a.now = time.Now
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.ValidArgsFunction = a.completeTarget
	a.addPIDFlag(root) // for the help; report has the flag too
	f := root.PersistentFlags()
	f.StringVar(&a.open.exe, "exe", "", "the program's executable, if it is not at the path that the core names")
	f.StringVar(&a.open.sysroot, "sysroot", "", "directory that holds the file system of the core's machine")
	f.StringArrayVar(&a.open.debugDirs, "debug-dir", []string{"/usr/lib/debug"},
		"directory of separate debug files (may be repeated)")
	f.BoolVar(&a.open.noDebuginfod, "no-debuginfod", false, "do not query debuginfod servers, even if "+
		"DEBUGINFOD_URLS is set")
	f.BoolVar(&a.open.noStop, "no-stop", false, "do not stop the process; values that changed while they were read "+
		"are "+
		"marked \"unsettled\"")
	f.DurationVar(&a.budget, "budget", engine.DefaultBudget, "CPU time limit (0: none); parts that were skipped are "+
		"listed (a server has its own limit)")
	a.open.maxMemory = budget.DefaultMemory
	f.Var(&a.open.maxMemory, "max-memory", "limit of the memory that this command uses for a target (0: none); parts "+
		"that were skipped are listed (a server has its own limit for all targets of a user)")
	f.StringVar(&a.sandboxMode, "sandbox", string(sandbox.Auto), "auto, require or off: drop all rights that "+
		"reading a "+
		"core does not need")
	f.BoolVar(&a.json, "json", false, "print JSON (proto/picture.schema.json); same as --format json")
	f.StringVar(&a.form, "format", "", "text, json, html (a page), dot (the wait-for graph), folded or speedscope "+
		"(the merged stacks), pprof (of profile)")
	f.StringVar(&a.color, "color", "auto", "color the output: auto, always or never "+
		"(auto: on a terminal; NO_COLOR, CLICOLOR=0 and CLICOLOR_FORCE=1 are honored)")
	f.BoolVar(&a.all, "all", false, "print each thread, task, frame, verdict and event on its own; do not merge those "+
		"that are alike, and leave none out")
	f.IntVar(&a.width, "width", ownWidth, "output width in columns (0: unlimited; default: the terminal's)")
	a.beyond.addFlags(root)
	f.BoolVar(&a.quiet, "quiet", false, "print no progress and no notes on the standard error; diagnose and watch "+
		"print nothing: their exit status is the answer")
	root.AddCommand(a.verbs()...)
	root.SetUsageFunc(a.usage)
	addExamples(root)
	return root
}

// verbs returns the verbs.
func (a *app) verbs() []*cobra.Command {
	whole := a.reportVerb()
	whole.Flags().BoolVar(&a.native, "native", false, "show native stacks, with the runtime's frames")
	a.htmlFlag(whole)
	regions := a.verb("regions", "Show the tree of parallel regions", picture.Parts{Regions: true}, report.Regions)
	threads := a.pictureVerb("threads", "List the threads: role, number, team, state, and the locks they wait for "+
		"and hold",
		engine.Query{Parts: picture.Parts{Threads: true, Regions: true}, Verdicts: true}, report.Threads)
	a.stateNamesFlag(threads)
	for _, v := range []*cobra.Command{threads, regions} {
		v.Flags().BoolVar(&a.numbers, "numbers", false, "number the regions, and name threads by region and number, "+
			"such as 2.1")
	}
	stacks := a.verb("stacks", "Show the stacks in the user's model, "+
		"merged", picture.Parts{Threads: true, Stacks: true}, report.Stacks)
	stacks.Long = `Shows the stacks in the user's model, merged. Names of functions with more than
80 characters lose the types of their parameters and long template arguments;
--format folded and --json have the whole names.`
	stacks.Flags().BoolVar(&a.native, "native", false, "show native stacks, with the runtime's frames")
	for _, v := range []*cobra.Command{whole, stacks} {
		a.outputFlags(v)
	}
	for _, v := range []*cobra.Command{whole, threads, regions, stacks} {
		onlyFlags(v, &a.only)
	}
	return []*cobra.Command{
		whole, a.diagnoseVerb(), threads, regions, a.tasksVerb(), a.icvsVerb(), a.devicesVerb(), stacks,
		a.breakpointsVerb(), a.layoutVerb(), a.doctorVerb(), a.versionVerb(),
		dlvVerb(a), a.psVerb(), a.coresVerb(), a.lastVerb(), a.watchVerb(), a.profileVerb(), a.runVerb(),
		a.recordVerb(),
		a.releaseVerb(), traceVerb(a),
		a.symbolsVerb(), a.serveVerb(), jobVerb(a), jobNodeVerb(a), a.dapVerb(), viewVerb(a), a.libompdVerb(),
	}
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this tool, and the runtimes it reads", Args: cobra.NoArgs,
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
