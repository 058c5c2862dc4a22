package symbolize

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
)

// clangParallel is the mark of functions that clang outlines from parallel and teams constructs.
const clangParallel = ".omp_outlined"

// debugTwin is the mark of functions that clang makes with -g for the bodies of constructs.
const debugTwin = "_debug__"

// targetPrefix begins the names of clang's functions of target regions.
const targetPrefix = "__omp_offloading_"

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
	kind, symbol := splitConstruct(linkage)
	return kind, Demangle(symbol)
}

// splitConstruct is Construct, with the symbol of the user function.
func splitConstruct(linkage string) (kind, symbol string) {
	if !strings.Contains(linkage, ".") && !strings.HasPrefix(linkage, targetPrefix) {
		return "", "" // most names; each mark has a point
	}
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
	return kind, name
}

// functionAround returns the display name of the program's function around the construct that a compiler outlined into
// the function with this symbol and a part at a file address; "" if the symbol does not contain it. fn is that function
// in the debug information; nil if it was not looked up.
func (m *module) functionAround(linkage string, addr uint64, fn *dwarfx.Func) string {
	_, around := splitConstruct(linkage)
	if !plainFortran(around) {
		return Demangle(around)
	}
	if fn == nil {
		fn = m.dwarfFunc(addr)
	}
	if around == fortranMain && fn != nil && fn.Unit().IsFortran() {
		for f := range fn.Unit().Funcs {
			if s, ok := m.codeSymbolAt(f.Low); ok && s.name == around {
				return m.fortranName(around, f.Low, &f)
			}
		}
		return Demangle(around)
	}
	return cmp.Or(m.fortranName(around, addr, fn), Demangle(around))
}

// IsTaskEntry reports whether the runtime calls the function to execute one of clang's tasks. The
// task's body is inlined in it, at every level of optimization, under a name that parallel regions
// have, too (.omp_outlined.).
func IsTaskEntry(linkage string) bool { return strings.HasPrefix(linkage, taskEntry) }

// TargetRegion decodes the name that clang gives to the function of a target region, on the host and on devices:
// __omp_offloading_<device>_<file>_<function>_l<line>, with a suffix for some functions. It returns the symbol of the
// program's function around the construct and the construct's line, or any other name unchanged.
func TargetRegion(name string) (function string, line int, ok bool) {
	rest, ok := strings.CutPrefix(name, targetPrefix)
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

// IsDebugTwin reports whether clang made the function with -g for the body of a parallel, teams or target construct:
// the runtime calls another function, which calls this one. The names of functions that are outlined from constructs in
// that body contain its mark, too.
func IsDebugTwin(linkage string) bool {
	if i := strings.LastIndex(linkage, clangParallel); i >= 0 {
		return strings.Contains(linkage[i:], debugTwin)
	}
	_, _, target := TargetRegion(strings.TrimSuffix(linkage, debugTwin))
	return target && strings.HasSuffix(linkage, debugTwin)
}
