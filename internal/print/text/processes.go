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
		p.printWrapped("", noProcess(list))
	} else {
		t := &table{head: []string{"PID", "USER", "STATE", "THREADS", "CPU", "RUNTIME", "COMMAND"}}
		sorted := waitingFirst(list.Processes)
		for _, c := range sorted {
			t.add(fmt.Sprint(c.PID), c.User, c.State, fmt.Sprint(c.Threads), fmt.Sprintf("%.0f%%", 100*c.CPU),
				runtimeNames(c.Runtimes), commandLine(c))
		}
		p.printTable(t)
		p.printLine("")
		p.printf("next: ompd-inspect %d", sorted[0].PID)
	}
	if list.Hidden > 0 {
		why := cmp.Or(list.HiddenReason, "for lack of permission")
		if len(list.Processes) > 0 && !p.all { // the wanted process is probably in the list
			why = "--all shows the reason"
		}
		p.printWrapped("", processCount(list.Hidden)+" could not be inspected; "+why)
	}
}

// noProcess returns the text for an empty list.
func noProcess(list *picture.Processes) string {
	const runtime = "has an OpenMP runtime loaded"
	switch n := list.Readable(); {
	case list.Hidden == 0:
		return "no process on this machine " + runtime
	case n == 1:
		return "the one process that you may inspect has no OpenMP runtime loaded"
	case n > 1:
		return fmt.Sprintf("none of the %d processes that you may inspect %s", n, runtime)
	}
	return "none of the processes that you may inspect " + runtime
}

// idleCPU is the CPU use below which a process counts as waiting, in processors.
const idleCPU = 0.01

// waitingFirst returns processes with those that wait before those that compute, both in their order. A process
// that hangs waits more often than it computes.
func waitingFirst(list []picture.Process) []picture.Process {
	list = slices.Clone(list)
	computes := func(c picture.Process) int {
		if c.State == "running" || c.CPU >= idleCPU {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b picture.Process) int { return computes(a) - computes(b) })
	return list
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
