package cli

import "github.com/spf13/cobra"

// Tree returns the commands with their help and flags, for manuals and completions. They are not to be executed.
func (c Command) Tree() *cobra.Command { return (&app{Command: c}).command() }

// examples are command lines of verbs that have no examples in their help text.
var examples = map[string]string{
	"report": "  ompd-inspect report core.1234 --html report.html\n" +
		"  ompd-inspect report 1234 --format speedscope -o stacks.json",
	"diagnose": "  ompd-inspect diagnose core.1234 || echo \"it hangs or could not be read\"\n" +
		"  ompd-inspect diagnose --fail-on hang,crash 1234",
	"threads": "  ompd-inspect threads 1234 --numbers",
	"regions": "  ompd-inspect regions core.1234",
	"tasks":   "  ompd-inspect tasks core.1234",
	"icvs":    "  ompd-inspect icvs 1234",
	"stacks":  "  ompd-inspect stacks 1234 --format folded | flamegraph.pl >stacks.svg",
	"watch":   "  ompd-inspect watch 1234",
	"run":     "  ompd-inspect run --hang-after 1m --report hang.txt -- ./program input",
	"record":  "  ompd-inspect record -- ./program input\n  ompd-inspect record --save history -- ./program input",
	"trace":   "  ompd-inspect trace core.1234 --last 1s\n  ompd-inspect trace history -o history.perfetto-trace",
	"view":    "  ompd-inspect view core.1234",
	"serve":   "  ompd-inspect serve --listen unix:///run/user/1000/ompd.sock",
	"ps":      "  ompd-inspect ps",
	"doctor":  "  ompd-inspect doctor core.1234",
}
