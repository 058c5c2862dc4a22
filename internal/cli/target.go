package cli

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// pidFlag is the flag that names a process, as in gdb, perf and strace.
const pidFlag = "pid"

// processID is a flag for the number of a process; 0 if unset.
type processID int

// String returns the number as it can be typed.
func (p *processID) String() string { return strconv.Itoa(int(*p)) }

// Set parses a number.
func (p *processID) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return fmt.Errorf("%q is not the number of a process; `ompd-inspect ps` lists processes", s)
	}
	*p = processID(n)
	return nil
}

// Type returns the word for the value in the help.
func (p *processID) Type() string { return "PID" }

// addPIDFlag adds --pid to a verb.
func (a *app) addPIDFlag(cmd *cobra.Command) {
	cmd.Flags().VarP(&a.pid, pidFlag, "p", "inspect this process; same as PID as the only argument")
}

// targeted makes cmd a verb of one target: its only argument, or the process of --pid.
func (a *app) targeted(cmd *cobra.Command) *cobra.Command {
	a.addPIDFlag(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if a.pid == 0 {
			return oneTarget(cmd, args)
		}
		if len(args) > 0 {
			return usageError{fmt.Errorf("--pid %d and %s: one target at a time", a.pid, args[0])}
		}
		return nil
	}
	cmd.ValidArgsFunction = a.completeTarget
	look := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.pid != 0 {
			args = []string{a.pid.String()}
		}
		a.readsInput = true
		// A sandbox hides other processes and settings of the kernel, so that they are read before.
		pattern := readCorePattern()
		var running []live.Listed
		if !a.contains(args[0]) {
			running = runningPrograms(args[0])
		}
		return explainNotCore(pattern, explainTarget(cmd, args[0], running, look(cmd, args)))
	}
	return cmd
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
	if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) && args[0] != standardStream {
		if cmd.CalledAs() == "report" {
			return usageError{fmt.Errorf("%s is neither a verb nor a core%s", args[0], didYouMean(cmd.Root(), args[0]))}
		}
		if cmd.HasSubCommands() {
			return usageError{fmt.Errorf("%s: one target at a time, not %d%s", cmd.Name(), len(args),
				didYouMean(cmd, args[0]))}
		}
	}
	return usageError{fmt.Errorf("%s: one target at a time, not %d", cmd.Name(), len(args))}
}

// didYouMean returns the end of a message: the verb below parent that word may be a misspelling of, with its
// arguments. It returns "" without one.
func didYouMean(parent *cobra.Command, word string) string {
	if strings.ContainsAny(word, "./") {
		return "" // a path
	}
	const unlike = 3 // number of letters of a word per wrong letter
	parent.SuggestionsMinimumDistance = max(1, min(2, len(word)/unlike))
	for _, name := range parent.SuggestionsFor(word) {
		for _, c := range parent.Commands() {
			if c.Name() == name {
				_, arguments, _ := strings.Cut(c.Use, " ")
				return fmt.Sprintf(": did you mean `%s`?", strings.TrimSpace(c.CommandPath()+" "+arguments))
			}
		}
	}
	return ""
}

// runningPrograms returns the processes that run a program: the one in the file of that name, or, if there is
// no such file, programs with that name. It returns nil for a number, an address, and a file that is not a
// program.
func runningPrograms(name string) (list []live.Listed) {
	if _, err := strconv.Atoi(name); err == nil || name == standardStream || strings.Contains(name, ":") {
		return nil
	}
	file, err := os.Stat(name)
	if err == nil && probe(name) != programFile || err != nil && strings.Contains(name, "/") {
		return nil
	}
	base := filepath.Base(name)
	for _, p := range live.List() {
		var same bool
		switch {
		case file != nil && p.File != nil && mpi.Script(p.Command) != base:
			same = os.SameFile(file, p.File)
		default:
			same = base == programName(p)
		}
		if same {
			list = append(list, p)
		}
	}
	return list
}

// programName returns the name of a process's program, or of the script that it runs.
func programName(p live.Listed) string {
	switch script := mpi.Script(p.Command); {
	case script != "":
		return script
	case p.Executable != "":
		return filepath.Base(p.Executable)
	}
	return filepath.Base(p.Command[0])
}

// fileKind is the kind of a file by its first bytes.
type fileKind int

// Kinds of files.
const (
	otherFile fileKind = iota
	coreFile
	packedFile  // compressed; it may contain a core
	programFile // an executable, a script, or a shared library
)

// probe returns the kind of a file by its first bytes.
func probe(name string) fileKind {
	f, err := files.Open(name)
	if err != nil {
		return otherFile
	}
	defer f.Close()
	const typeAt = elf.EI_NIDENT
	var b [typeAt + 2]byte
	n, _ := f.ReadAt(b[:], 0) // zeros stay in b for a short file
	switch head := string(b[:n]); {
	case strings.HasPrefix(head, "#!"):
		return programFile
	case corefile.Compressed(name):
		return packedFile
	case n < len(b) || !strings.HasPrefix(head, elf.ELFMAG):
		return otherFile
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if elf.Data(b[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	switch elf.Type(order.Uint16(b[typeAt:])) {
	case elf.ET_CORE:
		return coreFile
	case elf.ET_EXEC, elf.ET_DYN:
		return programFile
	}
	return otherFile
}

// isProgramError reports whether an error means that the target is a program.
func isProgramError(err error) bool {
	return errors.Is(err, corefile.ErrExecutable) || errors.Is(err, corefile.ErrScript)
}

// explainTarget adds the next command to an error of a target. It does so for a program, and for a missing file
// with the name of a running program or a name like a verb.
func explainTarget(cmd *cobra.Command, name string, running []live.Listed, err error) error {
	again := "ompd-inspect "
	if cmd.Name() != "report" {
		again = cmd.CommandPath() + " "
	}
	kind := corefile.ErrExecutable
	if errors.Is(err, corefile.ErrScript) {
		kind = corefile.ErrScript
	}
	switch {
	case name == standardStream:
	case isProgramError(err) && len(running) > 0:
		return fmt.Errorf("%s: %w: %w, which runs as %s", name, corefile.ErrNotCore, kind, runsAs(running, again))
	case isProgramError(err) && unix.Access(name, unix.X_OK) == nil:
		return fmt.Errorf("%s: %w: %w: `ompd-inspect run -- %s` runs it and reports a crash or a hang", name,
			corefile.ErrNotCore, kind, asCommand(name))
	case errors.Is(err, engine.ErrNoTarget) && len(running) > 0:
		return fmt.Errorf("%s: %w; a program of that name runs as %s", name, fs.ErrNotExist, runsAs(running, again))
	case errors.Is(err, engine.ErrNoTarget) && cmd.CalledAs() == "report":
		if verb := didYouMean(cmd.Root(), name); verb != "" {
			return fmt.Errorf("%s: %w%s", name, fs.ErrNotExist, verb)
		}
	}
	return err
}

// maxRunning is the number of processes of a program that a message lists.
const maxRunning = 8

// runsAs lists the processes of a program, with the command that inspects the first one, or the ranks that it
// started.
func runsAs(running []live.Listed, again string) string {
	if mpi.Launcher(running[0].Executable, running[0].Command) != "" {
		again = "ompd-inspect job --mpirun "
	}
	var words []string
	for _, p := range running[:min(len(running), maxRunning)] {
		words = append(words, strconv.Itoa(p.PID))
	}
	if more := len(running) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	noun := "process "
	if len(running) > 1 {
		noun = "processes "
	}
	return fmt.Sprintf("%s%s: `%s%d`", noun, strings.Join(words, ", "), again, running[0].PID)
}

// asCommand returns a path, quoted as a shell needs it in a command.
func asCommand(path string) string {
	if !strings.Contains(path, "/") {
		path = "./" + path
	}
	if strings.ContainsAny(path, " \t\n{}[]*?$~#'\"\\;&|<>()!`") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// standardStream is the name of the standard input as a target, and of the standard output as a file.
const standardStream = "-"
