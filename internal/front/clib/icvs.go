package clib

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// variable is a control variable with the number and name that a tool uses.
type variable struct {
	name    string
	scope   handles.Scope // in the tool's request
	own     handles.Scope // in package rtl
	id      int           // in package rtl
	subject handles.Subject
}

// version50 is OpenMP 5.0's version of the interface.
const version50 = 201811

// variables50 lists the variables that debuggers of OpenMP 5.0 were written for: those of LLVM's library, with
// its names and in its order. These debuggers print each variable, and some fail if one is missing or not an
// integer. "T" marks variables of the data environment that are requested from a thread.
const variables50 = `dyn-var:T run-sched-var stacksize-var cancel-var max-task-priority-var debug-var nthreads-var:T display-affinity-var
	affinity-format-var default-device-var:T tool-var tool-libraries-var tool-verbose-init-var levels-var active-levels-var
	thread-limit-var max-active-levels-var bind-var num-procs-var ompd-num-procs-var=num-procs-var
	thread-num-var ompd-thread-num-var=thread-num-var
	final-task-var ompd-final-var=final-task-var ompd-final-task-var=final-task-var
	implicit-task-var ompd-implicit-var=implicit-task-var ompd-implicit-task-var=implicit-task-var
	team-size-var ompd-team-size-var=team-size-var`

// Variables that these debuggers expect in the form of LLVM's library.
//
// For a list, the integer is the first item, and the return code reports further items even without any: OpenMP
// 5.0 has no such code, 5.1 uses it for more than one item. A schedule has a chunk size, which debuggers read
// after the comma.
const (
	listVariable     = "nthreads-var"
	scheduleVariable = "run-sched-var"
)

// withChunk returns a schedule with its chunk size, by default 0.
func withChunk(schedule string) string {
	if strings.Contains(schedule, ",") {
		return schedule
	}
	return schedule + ",0"
}

// listVariables returns the variables of a runtime in the tool's version of the interface.
func listVariables(version int64, icvs []handles.ICV) []variable {
	var all []variable
	if version != version50 {
		for i, v := range icvs {
			all = append(all, variable{name: v.Name, scope: v.Scope, own: v.Scope, id: i + 1})
		}
		return all
	}
	for _, word := range strings.Fields(variables50) {
		name, ofThread := strings.CutSuffix(word, ":T")
		name, ours, renamed := strings.Cut(name, "=")
		if !renamed {
			ours = name
		}
		i := slices.IndexFunc(icvs, func(v handles.ICV) bool { return v.Name == ours })
		if i < 0 {
			continue
		}
		v := variable{name: name, scope: icvs[i].Scope, own: icvs[i].Scope, id: i + 1}
		if ofThread && v.own == handles.ScopeTask {
			v.scope = handles.ScopeThread
		}
		all = append(all, v)
	}
	return all
}

// nextICV implements ompd_enumerate_icvs: it returns the variable after number n.
func nextICV(all []variable, n uint64) (result, error) {
	switch {
	case n > uint64(len(all)):
		return result{}, fmt.Errorf("variable number %d: %w", n, callbacks.BadInput)
	case n == uint64(len(all)):
		return text(""), nil
	}
	v := all[n]
	return text(v.name, n+1, uint64(v.scope), flag(n+1 < uint64(len(all)))), nil
}
