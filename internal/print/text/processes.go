package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Processes prints the table of processes that can be inspected, and the next command.
func Processes(p *Printer, list *picture.Processes) {
	if len(list.Processes) == 0 {
		p.printLine("no process on this machine has an OpenMP runtime loaded")
	} else {
		t := &table{head: []string{"PID", "USER", "STATE", "THREADS", "CPU", "RUNTIME", "COMMAND"}}
		for _, c := range list.Processes {
			t.add(fmt.Sprint(c.PID), c.User, c.State, fmt.Sprint(c.Threads), fmt.Sprintf("%.0f%%", 100*c.CPU),
				runtimeNames(c.Runtimes), commandLine(c))
		}
		p.printTable(t)
		busiest := slices.MaxFunc(list.Processes, func(a, b picture.Process) int { return int(100 * (a.CPU - b.CPU)) })
		p.printLine("")
		p.printf("next: ompd-inspect %d", busiest.PID)
	}
	if list.Hidden > 0 {
		p.printWrapped("", processCount(list.Hidden)+" could not be inspected; "+
			cmp.Or(list.HiddenReason, "for lack of permission"))
	}
}

// runtimeNames returns the family and version of each runtime.
func runtimeNames(list []picture.ProcessCode) string {
	var parts []string
	for _, r := range list {
		s := strings.TrimSpace(r.Family + " " + r.Version)
		switch {
		case r.InferredFrom != "":
			s += " (static, inferred)"
		case r.Static:
			s += " (static)"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// commandLine returns the command with the base name of the program.
func commandLine(c picture.Process) string {
	if len(c.Command) == 0 {
		return filepath.Base(c.Executable)
	}
	return strings.Join(append([]string{filepath.Base(c.Command[0])}, c.Command[1:]...), " ")
}

func processCount(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
