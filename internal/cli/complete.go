package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sandbox"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// isCompletion reports whether a command line is a shell's request for completions.
func isCompletion(args []string) bool {
	return len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// prepareCompletion prepares root for a shell's request. It returns the request with the default verb added, so
// that `ompd-inspect core.1234 --<TAB>` completes the flags of report.
func (a *app) prepareCompletion(root *cobra.Command, args []string) []string {
	a.registerCompletions(root)
	request, typed := args[0], args[1:]
	before, last := typed[:len(typed)-1], typed[len(typed)-1]
	w := parseWords(root, before)
	// report has all flags but --version
	flag := strings.HasPrefix(last, "-") && !strings.HasPrefix(last, "--v")
	if !w.verb && (w.target || w.others || flag) {
		typed = append([]string{"report"}, typed...)
	}
	return append([]string{request}, typed...)
}

// flagWords lists the values of flags that accept one of a few words, by the flag's name. A tab separates a
// word from its description.
var flagWords = map[string][]string{
	"color":   {"auto\tcolors on a terminal", "always", "never"},
	"sandbox": {string(sandbox.Auto) + "\tas far as the kernel can", string(sandbox.Require), string(sandbox.Off)},
	"names":   {"2013", "2016", "5.1"},
	"source":  engine.LayoutSources,
}

// flagLists lists the values of flags that accept a list of words, separated by commas.
var flagLists = map[string][]string{
	"fail-on": append([]string{failOnHang, failOnNothing}, diagnose.Names()...),
	"events":  recordedEvents(),
}

// Flags by the kind of their values. All other flags name a file.
var (
	directoryFlags = []string{"sysroot", "debug-dir", "allow-dir", "per-rank"}
	// freeFlags lists the flags with free values.
	freeFlags = []string{
		"server", "listen", "connect", "hosts", "pods", "job", "slurm", "via", "region", "task", "detail",
	}
	// freeTypes lists types of values that cannot be listed: numbers, times, sizes.
	freeTypes = []string{"int", "intSlice", "duration", "size"}
	// programVerbs lists the verbs with a program and its arguments, which the shell completes as files.
	programVerbs = []string{"run", "record", "dap", "dlv"}
)

// registerCompletions registers the completion of the values of each flag and the arguments of each verb.
func (a *app) registerCompletions(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.PersistentFlags(), cmd.Flags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if complete := a.flagCompletion(f); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // returns an error if it was registered before
			}
		})
	}
	if cmd.ValidArgsFunction == nil && !slices.Contains(programVerbs, cmd.Name()) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, c := range cmd.Commands() {
		a.registerCompletions(c)
	}
}

// flagCompletion returns the completion of a flag's value; nil for a file.
func (a *app) flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	switch words, list := flagWords[f.Name], flagLists[f.Name]; {
	case f.Name == pidFlag:
		return completePID
	case f.Name == "mpirun":
		return completeLauncher
	case f.Name == "target":
		return completeTargetFlag
	case f.Name == "format":
		return a.completeFormat
	case f.Name == "runtime":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{ownRuntime}, cobra.ShellCompDirectiveDefault // or a file
		}
	case f.Value.Type() == "bool" || slices.Contains(freeTypes, f.Value.Type()), slices.Contains(freeFlags, f.Name):
		return cobra.NoFileCompletions
	case words != nil:
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	case list != nil:
		return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeList(list, typed), cobra.ShellCompDirectiveNoFileComp
		}
	case slices.Contains(directoryFlags, f.Name):
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	return nil
}

// completeList completes the last word of a list. Words that start with a sign are listed only after the sign
// is typed.
func completeList(words []string, typed string) (out []string) {
	comma := strings.LastIndexByte(typed, ',') + 1
	head, last := typed[:comma], typed[comma:]
	for _, w := range words {
		sign := strings.TrimLeft(w, "+-") != w && last == ""
		if strings.HasPrefix(w, last) && !sign && !slices.Contains(strings.Split(head, ","), w) {
			out = append(out, head+w)
		}
	}
	return out
}

// recordedEvents returns the words of record --events.
func recordedEvents() []string {
	out := slices.Clone(eventSets)
	for _, name := range eventNames {
		out = append(out, "+"+name, "-"+name)
	}
	return out
}

// completeFormat completes the formats of a verb.
func (a *app) completeFormat(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	about := map[report.Format]string{
		report.Text: "for people", report.JSON: "for programs", report.HTML: "a page for a browser",
		report.Dot: "the wait-for graph, for Graphviz", report.Folded: "merged stacks, for flame graphs",
		report.Speedscope: "merged stacks, for speedscope.app", report.Pprof: "for pprof",
	}
	view, drawn := a.views[cmd.Name()]
	drawn = drawn || !cmd.HasParent()
	var out []string
	for _, f := range report.Formats() {
		plain := f == report.Text || f == report.JSON || f == report.HTML && cmd.Name() == "job"
		if plain || drawn && report.Check(f, view) == nil {
			out = append(out, cobra.CompletionWithDesc(string(f), about[f]))
		}
	}
	if cmd.Name() == "trace" {
		for _, f := range export.Formats() {
			out = append(out, cobra.CompletionWithDesc(f, "with -o -"))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeTarget completes the target of a verb, by its usage: processes that use OpenMP, cores, pictures,
// libraries. If there is no match, the shell completes files.
func (a *app) completeTarget(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.pid != 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	takes := strings.FieldsFunc(cmd.Use, func(r rune) bool { return r == '|' || r == ' ' })
	if !slices.Contains(takes, "CORE") {
		return completePID(cmd, args, typed)
	}
	return targetsLike(typed, func(path string) bool {
		switch kind := probe(path); {
		case kind == coreFile, kind == packedFile && isCoreName(filepath.Base(path)):
			return true
		case slices.Contains(takes, "LIBRARY"):
			return kind == programFile
		}
		return isSaved(path) && (cmd.Name() == "report" || cmd.Name() == "diagnose" || !cmd.HasParent())
	})
}

// isCoreName reports whether the name of a compressed file is one that collectors of cores use.
func isCoreName(name string) bool {
	return strings.Contains(name, "core") || strings.HasSuffix(name, ".crash")
}

// completeTargetFlag completes a flag with a target as its value.
func completeTargetFlag(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return targetsLike(typed, isCore)
}

// targetsLike lists the matches for typed: processes that use OpenMP, directories, and the files for which
// takes returns true.
func targetsLike(typed string, takes func(path string) bool) ([]string, cobra.ShellCompDirective) {
	files := filesLike(typed, takes)
	out := append(processesLike(typed), files...)
	if len(files) > 0 && !slices.ContainsFunc(out, func(s string) bool { return !strings.HasSuffix(s, "/") }) {
		return out, cobra.ShellCompDirectiveNoSpace // the user may continue the path
	}
	return out, cobra.ShellCompDirectiveDefault
}

// completeCores completes any number of cores.
func completeCores(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return filesLike(typed, isCore), cobra.ShellCompDirectiveDefault
}

// isCore reports whether a file is a core.
func isCore(path string) bool { return probe(path) == coreFile }

// completePID completes the number of a process that uses OpenMP.
func completePID(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return processesLike(typed), cobra.ShellCompDirectiveNoFileComp
}

// completeLauncher completes the number of a process that starts MPI ranks.
func completeLauncher(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, p := range live.List() {
		pid := strconv.Itoa(p.PID)
		if strings.HasPrefix(pid, typed) && mpi.Launcher(p.Executable, p.Command) != "" {
			out = append(out, cobra.CompletionWithDesc(pid, describeProgram(p.Executable, p.Command)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// processesLike lists the processes with an OpenMP runtime and a number that starts as typed, with their
// command lines.
func processesLike(typed string) (out []string) {
	if strings.ContainsFunc(typed, func(r rune) bool { return r < '0' || r > '9' }) {
		return nil
	}
	list, _, _ := live.Processes(context.Background(), readers.Classify, 0) // the list is empty without /proc
	for _, p := range list {
		if pid := strconv.Itoa(p.PID); strings.HasPrefix(pid, typed) {
			out = append(out, cobra.CompletionWithDesc(pid, describeProgram(p.Executable, p.Command)))
		}
	}
	return out
}

// maxDescription is the longest description of a process, in characters.
const maxDescription = 60

// describeProgram returns the command line of a process in one short line of printable characters.
func describeProgram(executable string, command []string) string {
	words := []string{filepath.Base(executable)}
	if len(command) > 1 {
		words = append(words, command[1:]...)
	}
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.Join(words, " ")))
	if len(line) > maxDescription {
		line = append(line[:maxDescription-1], '…')
	}
	return string(line)
}

// Limits of the search for cores in a directory: the number of entries, and the number of files that are opened
// to find their kind.
const (
	maxListed = 20_000
	maxProbed = 2_000
)

// filesLike lists the directories, and the files accepted by takes, with a path that starts as typed.
func filesLike(typed string, takes func(path string) bool) (out []string) {
	dir, prefix := filepath.Split(typed)
	probed := 0
	for _, e := range readEntries(dir) {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" ||
			strings.ContainsFunc(name, unicode.IsControl) || name != strings.TrimSpace(name) {
			continue
		}
		path := dir + name
		if !e.Type().IsRegular() { // a link may lead to a core
			info, err := os.Stat(path)
			if err == nil && info.IsDir() {
				out = append(out, path+"/")
			}
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
		}
		if probed++; probed > maxProbed {
			break
		}
		if takes(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// readEntries returns up to maxListed entries of a directory; nil if it cannot be read.
func readEntries(dir string) []os.DirEntry {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, err := d.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return list
}
