package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Tree returns the commands with their help and flags, for manuals and completions. They are not to be executed.
func (c Command) Tree() *cobra.Command { return (&app{Command: c}).command() }

// verbGroups lists the verbs in the order of the help text. Verbs that cobra adds are in the last group.
var verbGroups = []struct {
	title string
	verbs []string
}{
	{"Look at a core or a process", []string{
		"report", "diagnose", "threads", "regions", "tasks", "stacks", "view", "ps", "cores", "last",
	}},
	{"Over time", []string{"watch", "profile", "run", "record", "release", "trace"}},
	{"MPI jobs", []string{"job"}},
	{"Debuggers and editors", []string{"dap", "dlv", "breakpoints", "symbols", "serve"}},
	{"For experts", []string{"doctor", "icvs", "devices", "layout", "version", "completion", "help"}},
}

// examples are command lines of verbs. Those of other verbs are in their help text.
var examples = map[string]string{
	"ompd-inspect report": "  ompd-inspect report core.1234 --html report.html\n" +
		"  ompd-inspect report 1234 --format speedscope -o stacks.json",
	"ompd-inspect diagnose": "  ompd-inspect diagnose core.1234 || echo \"it hangs or could not be read\"\n" +
		"  ompd-inspect diagnose --fail-on hang,crash 1234",
	"ompd-inspect threads": "  ompd-inspect threads 1234 --numbers\n" +
		"  ompd-inspect threads core.1234 --region 2",
	"ompd-inspect regions": "  ompd-inspect regions core.1234\n  ompd-inspect regions 1234 --numbers",
	"ompd-inspect tasks":   "  ompd-inspect tasks core.1234\n  ompd-inspect tasks 1234 --all --json",
	"ompd-inspect icvs":    "  ompd-inspect icvs 1234\n  ompd-inspect icvs core.1234 --json",
	"ompd-inspect devices": "  ompd-inspect devices 1234\n  ompd-inspect devices core.1234 --json",
	"ompd-inspect stacks": "  ompd-inspect stacks 1234 --native\n" +
		"  ompd-inspect stacks 1234 --format folded | flamegraph.pl >stacks.svg",
	"ompd-inspect watch": "  ompd-inspect watch 1234\n  ompd-inspect watch 1234 --interval 5s --count 10",
	"ompd-inspect profile": "  ompd-inspect profile 1234 --for 10s\n" +
		"  ompd-inspect profile --for 30s --format pprof -o work.pb.gz -- ./program input",
	"ompd-inspect run": "  ompd-inspect run -- ./program input\n" +
		"  ompd-inspect run --hang-after 1m --report hang.txt -- ./program input",
	"ompd-inspect record": "  ompd-inspect record -- ./program input\n" +
		"  ompd-inspect record --save history -- ./program input",
	"ompd-inspect release": "  ompd-inspect release 1234\n  ompd-inspect release 1234 && gdb -p 1234",
	"ompd-inspect trace": "  ompd-inspect trace core.1234 --last 1s\n" +
		"  ompd-inspect trace history -o history.perfetto-trace",
	"ompd-inspect trace stats": "  ompd-inspect trace stats 1234\n  ompd-inspect trace stats history --last 5s",
	"ompd-inspect job profile": "  ompd-inspect job profile 123456\n" +
		"  ompd-inspect job profile --mpirun 1234 --for 30s",
	"ompd-inspect job watch": "  ompd-inspect job watch 123456\n" +
		"  ompd-inspect job watch --mpirun 1234 --interval 5s",
	"ompd-inspect dap": "  ompd-inspect dap --listen /run/user/1000/dap.sock\n" +
		"  ompd-inspect dap --listen 127.0.0.1:4711 --secret-file secret\n" +
		"  ompd-inspect dap --proxy -- gdb -i dap",
	"ompd-inspect dlv": "  ompd-inspect dlv delve://127.0.0.1:4040\n" +
		"  ompd-inspect dlv --listen 127.0.0.1:4712 --insecure-tcp delve://127.0.0.1:4040",
	"ompd-inspect breakpoints": "  ompd-inspect breakpoints core.1234\n  ompd-inspect breakpoints 1234 --sites",
	"ompd-inspect serve": "  ompd-inspect serve --listen unix:///run/user/1000/ompd.sock\n" +
		"  ompd-inspect serve --listen tcp://127.0.0.1:4713 --token-file token --allow-dir /var/cores",
	"ompd-inspect view":    "  ompd-inspect view core.1234\n  ompd-inspect view 1234 --interval 10s",
	"ompd-inspect ps":      "  ompd-inspect ps\n  ompd-inspect ps --json",
	"ompd-inspect cores":   "  ompd-inspect cores\n  ompd-inspect cores --json",
	"ompd-inspect last":    "  ompd-inspect last\n  ompd-inspect last --json",
	"ompd-inspect doctor":  "  ompd-inspect doctor core.1234\n  ompd-inspect doctor 1234",
	"ompd-inspect layout":  "  ompd-inspect layout core.1234\n  ompd-inspect layout 1234 --source code",
	"ompd-inspect version": "  ompd-inspect version\n  ompd-inspect version --json",
}

// addExamples gives examples to cmd and the verbs below it that have none.
func addExamples(cmd *cobra.Command) {
	cmd.Example = cmp.Or(cmd.Example, examples[cmd.CommandPath()])
	for _, c := range cmd.Commands() {
		addExamples(c)
	}
}

// flagSection is a section of flags in the help of a verb.
type flagSection int

// Sections of flags, in the order of the help. Flags of the verb itself are in ownSection.
const (
	ownSection flagSection = iota
	targetSection
	outputSection
	rareSection
	serverSection
	flagSections
)

// title returns the heading of a section.
func (s flagSection) title() string {
	return [flagSections]string{"Flags", "Target", "Output", "Rarely used", "Server"}[s]
}

// sectionOf lists the flags in sections other than that of the verb.
var sectionOf = map[string]flagSection{
	"exe": targetSection, "sysroot": targetSection, "debug-dir": targetSection, "no-stop": targetSection,
	"json": outputSection, "format": outputSection, "color": outputSection, "quiet": outputSection,
	"width": outputSection, "all": outputSection,
	"no-debuginfod": rareSection, "budget": rareSection, "max-memory": rareSection, "sandbox": rareSection,
	"early": rareSection, "rank-timeout": rareSection, "jobs": rareSection, "tool": rareSection, "via": rareSection,
	"library": rareSection, "runtime-frames": rareSection, "names": rareSection, "rate": rareSection,
	"server": serverSection, "server-token-file": serverSection, "server-ca": serverSection,
	"server-cert": serverSection, "server-key": serverSection,
}

// Verbs for which inherited flags have no meaning: they read no target, or work on this machine only.
var (
	targetless = []string{"ps", "cores", "release", "version", "completion", "help"}
	localOnly  = []string{
		"cores", "last", "job", "run", "record", "release", "dap", "dlv", "serve", "completion", "help", "version",
	}
)

// hides reports whether the help of a verb leaves out an inherited flag, because it has no meaning for the verb.
func hides(cmd *cobra.Command, f *pflag.Flag) bool {
	for ; cmd.HasParent() && cmd.Parent().HasParent(); cmd = cmd.Parent() {
	}
	switch section := sectionOf[f.Name]; {
	case section == targetSection || section == rareSection:
		return slices.Contains(targetless, cmd.Name())
	case section == serverSection:
		return slices.Contains(localOnly, cmd.Name())
	}
	return false
}

// usage prints the usage of a verb: its form, examples, the verbs below it in groups, and its flags in sections.
func (a *app) usage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		printVerbs(&b, cmd)
	}
	a.printFlags(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n`%s VERB --help` describes a verb\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// printVerbs prints the verbs below cmd: those of the tool in groups, others in one list.
func printVerbs(b *strings.Builder, cmd *cobra.Command) {
	line := func(c *cobra.Command) { fmt.Fprintf(b, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short) }
	if cmd.HasParent() {
		b.WriteString("\nVerbs:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				line(c)
			}
		}
		return
	}
	for _, g := range verbGroups {
		fmt.Fprintf(b, "\n%s:\n", g.title)
		for _, name := range g.verbs {
			for _, c := range cmd.Commands() {
				if c.Name() == name {
					line(c)
				}
			}
		}
	}
}

// Widths of the lines of flags, in columns.
const (
	usualHelpWidth = 110
	leastHelpWidth = 60
)

// printFlags prints the flags of a verb in sections.
func (a *app) printFlags(b *strings.Builder, cmd *cobra.Command) {
	sets := [flagSections]*pflag.FlagSet{}
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { sets[sectionOf[f.Name]].AddFlag(f) })
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !hides(cmd, f) {
			sets[sectionOf[f.Name]].AddFlag(f)
		}
	})
	width := usualHelpWidth
	if o, err := a.printerOptions(a.Stdout); err == nil && o.Width > 0 {
		width = max(leastHelpWidth, min(width, o.Width))
	}
	for i, set := range sets {
		if set.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", flagSection(i).title(), set.FlagUsagesWrapped(width))
		}
	}
}
