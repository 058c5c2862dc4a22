package rtl

import (
	"slices"
	"strings"
)

// Construct is a construct that may not contain a barrier, with the functions that compilers call for it.
type Construct struct {
	Name string // display name
	// Own is set if a condition of the program looks the same.
	Own bool
	// A call of Begins enters the construct, a call of Ends leaves it. A call of Asks enters it if the result is
	// not 0, or with Zero, if it is 0.
	Begins, Asks, Ends []string
	Zero               bool
	Loop               LoopKind // or the functions of this kind, unless it is LoopNone
}

// Constructs returns all constructs. Those nested in others come first.
func Constructs() []Construct { return constructs }

var constructs = []Construct{
	{
		Name: "critical", Begins: []string{"__kmpc_critical", "__kmpc_critical_with_hint", "GOMP_critical_start",
			"GOMP_critical_name_start"},
		Ends: []string{"__kmpc_end_critical", "GOMP_critical_end", "GOMP_critical_name_end"},
	},
	{
		Name: "ordered", Begins: []string{"__kmpc_ordered", "GOMP_ordered_start"},
		Ends: []string{"__kmpc_end_ordered", "GOMP_ordered_end"},
	},
	{Name: "single", Asks: []string{"__kmpc_single", "GOMP_single_start"}, Ends: []string{"__kmpc_end_single"}},
	{Name: "single", Asks: []string{"GOMP_single_copy_start"}, Ends: []string{"GOMP_single_copy_end"}, Zero: true},
	{Name: "master", Asks: []string{"__kmpc_master"}, Ends: []string{"__kmpc_end_master"}},
	{Name: "masked", Asks: []string{"__kmpc_masked"}, Ends: []string{"__kmpc_end_masked"}},
	{Name: "sections", Loop: LoopSections},
	{Name: "worksharing loop", Loop: LoopHands},
	{Name: "worksharing", Loop: LoopStatic}, // clang divides sections in the same way
	{Name: "master", Asks: []string{"omp_get_thread_num"}, Zero: true, Own: true},
}

// ConstructRole is the role of a function in a construct.
type ConstructRole uint8

// The roles of functions.
const (
	ConstructNone ConstructRole = iota
	ConstructBegins
	ConstructAsks // the result decides whether the thread is in it
	ConstructEnds
)

// Role returns the role of the named function in the construct.
func (c *Construct) Role(function string) ConstructRole {
	function, _, _ = strings.Cut(function, "@")
	if c.Loop != LoopNone {
		return c.loopRole(LoopCallOf(function).Kind)
	}
	for role, names := range [...][]string{ConstructBegins: c.Begins, ConstructAsks: c.Asks, ConstructEnds: c.Ends} {
		if slices.Contains(names, function) {
			return ConstructRole(role)
		}
	}
	return ConstructNone
}

func (c *Construct) loopRole(k LoopKind) ConstructRole {
	switch {
	case k == LoopEnds:
		return ConstructEnds
	case k != c.Loop:
		return ConstructNone
	case k == LoopStatic:
		return ConstructBegins
	}
	return ConstructAsks
}

// OfBarrier reports whether compilers call the named function for barriers, explicit or at the end of a
// construct.
func OfBarrier(function string) bool {
	function, _, _ = strings.Cut(function, "@")
	return function == "GOMP_barrier" || function == "__kmpc_barrier"
}

// SharesWork reports whether the named function is called for a worksharing construct that may end with a
// separate barrier call: single, and a loop that the code divides.
func SharesWork(function string) bool {
	function, _, _ = strings.Cut(function, "@")
	return function == "omp_get_num_threads" || strings.HasPrefix(function, "GOMP_single_") ||
		strings.HasPrefix(function, "GOMP_scope_") || strings.HasPrefix(function, "GOMP_workshare_")
}

// HasLine reports whether the call of the named function, which enters a construct, has the line of the
// construct in the debug information. GCC's calls have the line of some part of it.
func HasLine(function string) bool {
	return strings.HasPrefix(function, "__kmpc_") || strings.HasPrefix(function, "GOMP_critical_")
}

// OfTeamBarrier reports whether each thread of a team waits for the others once in a call of the function.
func OfTeamBarrier(function string) bool {
	function, _, _ = strings.Cut(function, "@")
	switch function {
	case "GOMP_barrier", "GOMP_barrier_cancel", "GOMP_loop_end", "GOMP_loop_end_cancel", "GOMP_sections_end",
		"GOMP_sections_end_cancel", "__kmpc_barrier", "__kmpc_cancel_barrier", "__kmpc_reduce":
		return true
	}
	return false
}

// OfUnequalBarriers reports whether the threads of a team wait for each other in different functions, one of which
// is the function.
func OfUnequalBarriers(function string) bool {
	function, _, _ = strings.Cut(function, "@")
	switch function {
	case "GOMP_single_copy_start", "GOMP_single_copy_end", "__kmpc_copyprivate", "__kmpc_barrier_master",
		"__kmpc_barrier_master_nowait", "GOMP_workshare_task_reduction_unregister":
		return true
	}
	return false
}

// StartsSerialized reports whether the named function starts a region of one thread whose code may follow in the
// calling function.
func StartsSerialized(name string) bool { return name == "__kmpc_serialized_parallel" }

// ResultByNumber returns the result of a function that depends only on the number of the thread in its team.
func ResultByNumber(function string, number uint64) (result uint64, ok bool) {
	function, _, _ = strings.Cut(function, "@")
	switch {
	case function == "omp_get_thread_num":
		return number, true
	case function != "__kmpc_master":
		return 0, false
	case number == 0:
		return 1, true
	}
	return 0, true
}
