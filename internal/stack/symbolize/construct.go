package symbolize

import (
	"strconv"
	"strings"
)

// clangParallel is the mark of functions that clang outlines from parallel and teams constructs.
const clangParallel = ".omp_outlined"

// taskEntry is the prefix of the names of functions that call clang's tasks.
const taskEntry = ".omp_task_entry."

// Kinds of constructs, as far as names of functions show them.
const (
	ConstructParallel = "parallel"
	ConstructTask     = "task"
	ConstructTarget   = "target"
	ConstructTeams    = "teams"
	ConstructOutlined = "outlined" // the name does not show the construct
)

// constructs are the marks in the names of functions that compilers outline from OpenMP constructs.
var constructs = [...]struct{ mark, kind string }{
	{clangParallel, ConstructParallel},         // clang: parallel and teams
	{taskEntry, ConstructTask},                 // clang: called by the runtime
	{".omp_task_privates_map.", ConstructTask}, // clang: finds the data of a task
	{"..omp_par", ConstructOutlined},           // flang: parallel and task
	{"._omp_fn.", ConstructOutlined},           // gcc: parallel, task, target
	{"._omp_cpyfn.", ConstructOutlined},        // gcc: copies the data of a task
	{".omp.reduction", ConstructOutlined},      // clang: helpers of reductions
	{".omp.copyprivate", ConstructOutlined},    // clang: copies after single
	{".omp_combiner.", ConstructOutlined},      // clang: declare reduction
}

// Construct determines from a symbol whether a function was outlined from an OpenMP construct. kind
// is one of the constants above; "" for any other function. parent is the demangled user function
// that contains the construct; "" if the name does not contain it.
func Construct(linkage string) (kind, parent string) {
	first, last := len(linkage), -1
	for _, c := range constructs {
		if i := strings.LastIndex(linkage, c.mark); i > last {
			last, kind = i, c.kind
		}
		if i := strings.Index(linkage, c.mark); i >= 0 {
			first = min(first, i)
		}
	}
	name, _, target := TargetRegion(linkage[:first])
	if target && kind == "" {
		kind = ConstructTarget
	}
	if kind == "" {
		return "", ""
	}
	return kind, Demangle(name)
}

// IsTaskEntry reports whether the runtime calls the function to execute one of clang's tasks. The
// task's body is inlined in it, at every level of optimization, under a name that parallel regions
// have, too (.omp_outlined.).
func IsTaskEntry(linkage string) bool { return strings.HasPrefix(linkage, taskEntry) }

// TargetRegion decodes the name that clang gives to the function of a target region, on the host and on devices:
// __omp_offloading_<device>_<file>_<function>_l<line>, with a suffix for some functions. It returns the symbol of the
// program's function around the construct and the construct's line, or any other name unchanged.
func TargetRegion(name string) (function string, line int, ok bool) {
	rest, ok := strings.CutPrefix(name, "__omp_offloading_")
	if !ok {
		return name, 0, false
	}
	fields := strings.SplitN(rest, "_", 3)
	if len(fields) < 3 {
		return name, 0, false
	}
	end := strings.LastIndex(fields[2], "_l")
	if end <= 0 {
		return name, 0, false
	}
	digits := fields[2][end+len("_l"):]
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	line, err := strconv.Atoi(digits)
	return fields[2][:end], line, err == nil
}

// OutlinedName shortens the name of a function that clang outlined from a construct in a target region. That name has
// numbers of the source file, and a mark for each construct around. The result is as of a construct elsewhere:
// FUNCTION.omp_outlined. Any other name is unchanged.
func OutlinedName(name string) string {
	first := strings.Index(name, clangParallel)
	if first < 0 {
		return name
	}
	function, _, ok := TargetRegion(name[:first])
	if !ok {
		return name
	}
	return Demangle(function) + clangParallel
}

// isDebugTwin reports whether clang made the function with -g for the body of a parallel region:
// the runtime calls another function, which calls this one.
func isDebugTwin(linkage string) bool {
	return strings.Contains(linkage, ".omp_outlined") &&
		strings.Contains(linkage[strings.LastIndex(linkage, ".omp_outlined"):], "_debug__")
}
