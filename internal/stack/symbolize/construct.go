package symbolize

import "strings"

// taskEntry begins the names of the functions by which clang's tasks are called.
const taskEntry = ".omp_task_entry."

// Kinds of constructs, as far as the names of functions tell them.
const (
	ConstructParallel = "parallel"
	ConstructTask     = "task"
	ConstructOutlined = "outlined" // of which construct, the name does not tell
)

// constructs are the marks that compilers put into the names of functions that
// they outline from OpenMP constructs.
var constructs = [...]struct{ mark, kind string }{
	{".omp_outlined", ConstructParallel},       // clang: parallel and teams
	{taskEntry, ConstructTask},                 // clang: what the runtime calls
	{".omp_task_privates_map.", ConstructTask}, // clang: finds the data of a task
	{"..omp_par", ConstructOutlined},           // flang: parallel and task
	{"._omp_fn.", ConstructOutlined},           // gcc: parallel, task, target
	{"._omp_cpyfn.", ConstructOutlined},        // gcc: copies the data of a task
	{".omp.reduction", ConstructOutlined},      // clang: helpers of reductions
	{".omp.copyprivate", ConstructOutlined},    // clang: copies after single
	{".omp_combiner.", ConstructOutlined},      // clang: declare reduction
}

// Construct tells from its symbol whether a function was outlined from an OpenMP
// construct. kind is one of the constants above; it is empty for any other function. parent is the function of
// the user that has the construct, demangled, or empty if the name does not say
// it.
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
	name, target := offloadParent(linkage[:first])
	if target && kind == "" {
		kind = ConstructOutlined
	}
	if kind == "" {
		return "", ""
	}
	return kind, Demangle(name)
}

// IsTaskEntry tells the functions that the runtime calls to execute one of clang's
// tasks. Each has the task's body inlined, at every level of optimization, by a name
// that parallel regions have, too (.omp_outlined.).
func IsTaskEntry(linkage string) bool { return strings.HasPrefix(linkage, taskEntry) }

// offloadParent takes the function out of the name of a target region,
// __omp_offloading_<device>_<file>_<function>_l<line>; any other name it returns
// as it is.
func offloadParent(name string) (parent string, ok bool) {
	rest, ok := strings.CutPrefix(name, "__omp_offloading_")
	if !ok {
		return name, false
	}
	fields := strings.SplitN(rest, "_", 3)
	if len(fields) < 3 {
		return name, false
	}
	end := strings.LastIndex(fields[2], "_l")
	if end <= 0 {
		return name, false
	}
	return fields[2][:end], true
}

// isDebugTwin tells the functions that clang makes with -g for the body of a
// parallel region: another function, which the runtime calls, calls them.
func isDebugTwin(linkage string) bool {
	return strings.Contains(linkage, ".omp_outlined") &&
		strings.Contains(linkage[strings.LastIndex(linkage, ".omp_outlined"):], "_debug__")
}
