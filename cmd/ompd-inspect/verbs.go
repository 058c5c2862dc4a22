package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// version is the tool's version; the linker sets it in releases.
var version = "0.1.0-dev"

// errReported is an error whose message is already printed.
var errReported = errors.New("already reported")

// ownWidth as width is that of the terminal.
const ownWidth = -1

// app is one run of the tool: its outputs and the values of its flags.
type app struct {
	stdout, stderr *os.File
	open           openOptions
	json           bool
	color          string
	native         bool
	numbers        bool
	width          int
	server         serverOptions

	at  *client.Client  // a connection that is there already; nil without
	ctx context.Context // ends what is under way; nil means never
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

  ompd-inspect                      the processes that can be looked at
  ompd-inspect core.1234            the whole report of a core
  ompd-inspect 1234                 the same of a running process
  ompd-inspect delve://HOST:PORT    the same of what a headless Delve holds
  ompd-inspect threads core.1234    one part of it

Exit status: 0 the target was read, 1 it could not be read, 2 wrong usage,
3 diagnose found a hang or watch no progress (watch has more, see its help).`,
		Version:       version,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ps(cmd.Context(), defaultSample) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.open.exe, "exe", "", "the program's executable, if it is not where the core says")
	f.StringVar(&a.open.sysroot, "sysroot", "", "directory below which the files of the core's machine lie")
	f.StringArrayVar(&a.open.debugDirs, "debug-dir", []string{"/usr/lib/debug"}, "directory of separate debug files (may be repeated)")
	f.BoolVar(&a.open.noDebuginfod, "no-debuginfod", false, "ask no debuginfod server, even if DEBUGINFOD_URLS is set")
	f.BoolVar(&a.open.noStop, "no-stop", false, "stop no thread of a process; what changes meanwhile is said to be unsettled")
	f.BoolVar(&a.json, "json", false, "print JSON (proto/picture.schema.json)")
	f.StringVar(&a.color, "color", "auto", "auto, always or never")
	f.IntVar(&a.width, "width", ownWidth, "columns that the output fits in, 0 for any; without it, those of the terminal")
	a.serverFlags(root)
	for _, v := range a.verbs() {
		root.AddCommand(v)
	}
	return root
}

// verbs are the verbs in the order of the help text.
func (a *app) verbs() []*cobra.Command {
	report := a.reportVerb()
	report.Flags().BoolVar(&a.native, "native", false, "show native stacks, runtime frames too")
	regions := a.verb("regions", "The tree of parallel regions", inspect.Parts{Regions: true}, text.Regions)
	threads := a.verb("threads", "The threads: role, number and team, state, what they wait on", inspect.Parts{Threads: true, Regions: true}, text.Threads)
	for _, v := range []*cobra.Command{threads, regions} {
		v.Flags().BoolVar(&a.numbers, "numbers", false, "number the regions, and name threads by region and number, such as 2.1")
	}
	stacks := a.verb("stacks", "User-model stacks, merged", inspect.Parts{Threads: true, Stacks: true}, a.printStacks)
	stacks.Flags().BoolVar(&a.native, "native", false, "show native stacks, runtime frames too")
	return []*cobra.Command{
		report, a.diagnoseVerb(), threads,
		regions, a.tasksVerb(), a.icvsVerb(), stacks, a.psVerb(), a.watchVerb(), a.runVerb(), a.breakpointsVerb(), a.symbolsVerb(), a.layoutVerb(), a.doctorVerb(), a.serveVerb(), a.libompdVerb(), a.versionVerb(),
	}
}

// verb makes a verb that prints parts of a picture of one target.
func (a *app) verb(name, short string, want inspect.Parts, show func(*text.Printer, *inspect.Picture)) *cobra.Command {
	return a.pictureVerb(name, short, wanted{Parts: want}, func(p *text.Printer, pic *inspect.Picture) {
		show(p, pic)
		if name != "report" {
			text.Warnings(p, pic)
		}
	})
}

// pictureVerb makes a verb that makes a picture and prints it as text or JSON.
func (a *app) pictureVerb(name, short string, want wanted, show func(*text.Printer, *inspect.Picture)) *cobra.Command {
	return &cobra.Command{
		Use: name + " CORE|PID", Short: short, Args: oneTarget,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.see(args[0], a.withNative(want), func(s *seen) error { return a.print(s.pic, show) })
		},
	}
}

// withNative adds native stacks to what is wanted, if threads are: people ask for
// them, programs take what they need.
func (a *app) withNative(want wanted) wanted {
	want.Native = want.Threads && (a.native || a.json)
	return want
}

// print prints a picture as text or JSON.
func (a *app) print(pic *inspect.Picture, show func(*text.Printer, *inspect.Picture)) error {
	if a.json {
		return a.printJSON(pic)
	}
	p, err := a.printer()
	if err != nil {
		return err
	}
	if a.numbers {
		p.NumberRegions()
	}
	show(p, pic)
	return p.Err()
}

// oneTarget checks that there is exactly one target on the command line.
func oneTarget(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return usageError{fmt.Errorf("%s: which core or process? `ompd-inspect %s core.1234`", cmd.Name(), cmd.Name())}
	}
	for _, c := range cmd.Root().Commands() {
		if slices.Contains(args, c.Name()) {
			return usageError{fmt.Errorf("the verb comes first: `ompd-inspect %s core.1234`", c.Name())}
		}
	}
	if _, err := os.Stat(args[0]); cmd.CalledAs() == "report" && errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%s is neither a verb nor a core", args[0])}
	}
	return usageError{fmt.Errorf("%s: one target at a time, not %d", cmd.Name(), len(args))}
}

func (a *app) printReport(p *text.Printer, pic *inspect.Picture) {
	text.Report(p, pic)
	if a.native {
		text.NativeStacks(p, pic)
	}
}

func (a *app) printStacks(p *text.Printer, pic *inspect.Picture) {
	if a.native {
		text.NativeStacks(p, pic)
		return
	}
	text.Stacks(p, pic)
}

func (a *app) icvsVerb() *cobra.Command {
	return a.pictureVerb("icvs", "Every internal control variable, by scope, and where it was read", wanted{Parts: inspect.Parts{ICVs: true}}, func(p *text.Printer, pic *inspect.Picture) {
		text.ICVs(p, pic)
		text.Warnings(p, pic)
	})
}

func (a *app) layoutVerb() *cobra.Command {
	cmd := a.pictureVerb("layout", "Where every field lies, which source gave it and which agreed", wanted{layout: true}, text.Layout)
	names := []string{"symbols", "memory", "debuginfo", "code", "table"}
	list := strings.Join(names, ", ")
	cmd.PreRun = func(*cobra.Command, []string) { a.open.fullLayout = true }
	cmd.Flags().StringArrayVar(&a.open.sources, "source", nil, "use only this source: "+list+" (may be repeated)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, s := range a.open.sources {
			if !slices.Contains(names, s) {
				return usageError{fmt.Errorf("--source %q: it is one of %s", s, list)}
			}
		}
		return nil
	}
	return cmd
}

func (a *app) doctorVerb() *cobra.Command {
	return a.pictureVerb("doctor", "What this target allows; for what is missing, the cause and the cure", wanted{checks: true}, text.Doctor)
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "The version of this tool, and what it reads", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				Schema  string `json:"schema"`
				Reads   string `json:"reads"`
			}{version, "", inspect.Schema, ompd.Reads}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Go = info.GoVersion
			}
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.stdout, "ompd-inspect %s (%s)\nschema %s\nreads %s\n", v.Version, v.Go, v.Schema, v.Reads)
			return err
		},
	}
}

// printer returns a printer that fits the standard output.
func (a *app) printer() (*text.Printer, error) {
	fd := int(a.stdout.Fd())
	tty := term.IsTerminal(fd)
	width := text.NoLimit
	if a.width >= 0 {
		width = a.width
	} else if tty {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	}
	switch a.color {
	case "auto":
		return text.New(a.stdout, tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", width), nil
	case "always":
		return text.New(a.stdout, true, width), nil
	case "never":
		return text.New(a.stdout, false, width), nil
	}
	return nil, usageError{fmt.Errorf("--color %q: it is auto, always or never", a.color)}
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
