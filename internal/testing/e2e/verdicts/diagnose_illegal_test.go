package verdicts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// misplacedBarriers returns barriers in constructs that must not contain any, and healthy twins with the barrier
// after the construct. GCC divides static loops by itself: there the construct is unknown, and the verdict only
// reports that the barriers differ.
func misplacedBarriers() []expectation {
	const program = "verdict_misplaced"
	full := func(says []string) (out []string) { // @ stands for the program's file
		for _, s := range says {
			out = append(out, strings.ReplaceAll(s, "@", program+".c"))
		}
		return out
	}
	var out []expectation
	ways := []struct {
		waits     string
		says      []string
		llvm, gcc []string
	}{
		{"critical room", []string{
			"waits at the barrier at @:16, in the critical construct at @:35, by the call at @:36",
		}, nil, nil},
		{"ordered", []string{"in the ordered construct"}, []string{"at @:43"}, nil},
		{"barrier", []string{
			"the barrier at @:16 is in the single construct", "by the call at @:52",
		}, []string{"construct at @:51"}, nil},
		{"barrier", []string{"by the call at @:58"}, []string{"master construct at @:57"}, []string{
			"in code for thread 0 alone", "in <OMP-explicit_barrier>",
		}},
		{"barrier", []string{"worksharing construct at @:63, by the call at @:65"}, nil, nil},
		{"barrier", []string{"worksharing loop construct", "by the call at @:72"}, nil, nil},
		{"barrier", nil, []string{"worksharing construct at @:77"}, []string{"in the sections construct"}},
		{"barrier", []string{"in the worksharing loop construct", "by the call at @:90"}, nil, nil},
		{"barrier", []string{"in the single construct", "by the call at @:96"}, nil, nil},
	}
	for i, w := range ways {
		waits := []string{"barrier", w.waits}
		slices.Sort(waits)
		e := expectation{
			program: program, env: e2e.Asleep, args: []string{strconv.Itoa(i)}, threads: 2,
			kind: picture.VerdictIllegalBarrier, waits: waits, says: full(w.says), llvm: full(w.llvm), gcc: full(w.gcc),
		}
		if i == 4 {
			e.only = "libomp"
			gcc := e
			gcc.only, gcc.kind = "libgomp", picture.VerdictBarrierDivergent
			gcc.says = []string{"at the end of the parallel region"}
			out = append(out, gcc)
		}
		out = append(out, twins(e, strconv.Itoa(i), "1")...)
	}
	return out
}

// missingClauses returns ordered constructs in loops without an ordered clause, and healthy twins.
func missingClauses() []expectation {
	e := expectation{
		program: "verdict_unordered", args: []string{"0"}, env: e2e.Asleep, threads: anyNumber,
		kind: picture.VerdictDoacrossStuck, certainty: picture.Certain,
		says: []string{"NO ORDERED CLAUSE", "in log_row verdict_unordered.c:1", "write the clause on the loop"},
		llvm: []string{"2 threads wait"},
	}
	return append(twins(e, "0", "1"), expectation{program: e.program, args: []string{"1"}, env: e.env},
		expectation{program: e.program, args: []string{"1", "1"}, env: e.env})
}

// shiftedBarriers returns members of a team that hang at barriers after the place at which their paths differed
// first, and a healthy twin.
func shiftedBarriers() []expectation {
	const program = "verdict_shifted"
	e := expectation{
		program: program, env: e2e.Asleep, threads: 2, waits: []string{"barrier", "barrier"},
	}
	inConstruct := func(which, call, llvm, gcc string) expectation {
		out := e
		out.args, out.kind = []string{which}, picture.VerdictIllegalBarrier
		out.says = []string{"the barrier at " + program + ".c:16 is in", "by the call at " + program + ".c:" + call}
		out.llvm, out.gcc = []string{llvm}, []string{gcc}
		return out
	}
	master, number := inConstruct("0", "27", "the master construct at "+program+".c:24", "code for thread 0 alone"),
		inConstruct("1", "38", "code for thread 0 alone", "code for thread 0 alone")
	single := inConstruct("2", "49", "the single construct at "+program+".c:46", "the single construct")
	returns := e
	returns.args, returns.kind = []string{"3"}, picture.VerdictBarrierDivergent
	returns.says = []string{"only one side of the branch at " + program + ".c:58 leads to the barrier at " +
		program + ".c:61"}
	return append(twins(master, "0", "1"), number, single, returns)
}

// shiftedCrashes returns threads that die since members of their team are at different barriers, and one that dies
// where none are.
func shiftedCrashes() []expectation {
	const program = "verdict_shifted_crash"
	died := func(way string, says ...string) expectation {
		return expectation{program: program, args: []string{way}, env: e2e.Asleep, crash: true,
			kind: picture.VerdictCrash, certainty: picture.Certain, threads: 1,
			says: append(says, "dereferenced a null pointer in use "+program+".c:22")}
	}
	shifted := func(way, from string, says ...string) expectation {
		return died(way, append(says, "Other threads of its team wait at different barriers", "thread 0 (LWP ",
			"waits at the barrier at "+program+".c:"+from, "waits at the barrier at "+program+".c:64")...)
	}
	master := shifted("0", "34", "the barrier at "+program+".c:10 is in")
	master.llvm, master.gcc = []string{"the master construct at " + program + ".c:27"}, []string{"thread 0 alone"}
	return []expectation{master, shifted("1", "45"), died("2")}
}
