package diagnose

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// patience is for how long threads spin while they wait, before they sleep.
type patience int

const (
	aWhile  patience = iota // the default of the runtimes, or not known
	notAll                  // they sleep at once
	forEver                 // they were told to spin for all of the time
)

// patienceOf is what threads were told, by the environment or as the runtime keeps it. The
// wait policy of LLVM's runtime is passive by default, and lets threads spin for a while.
func patienceOf(x *index) patience {
	if _, always := x.variables(picture.PurposeSpin); always || x.setting("wait-policy-var") == "active" ||
		x.setting("kmp-blocktime-var") == "infinite" {
		return forEver
	}
	blocktime := strings.TrimRight(x.setting("kmp-blocktime-var"), "mus")
	policy, _, _ := x.environment("OMP_WAIT_POLICY")
	count := spinCount(x).Value
	if blocktime == "0" || blocktime == "" && (count == "0" || count == "" && strings.EqualFold(policy, "passive")) {
		return notAll
	}
	return aWhile
}

// letSleep says what to set so that threads that wait sleep: nothing that is set already.
func letSleep(x *index) string {
	policy, _, _ := x.environment("OMP_WAIT_POLICY")
	passive := strings.EqualFold(policy, "passive")
	switch count := spinCount(x); {
	case x.setting("kmp-blocktime-var") != "" && x.setting("wait-policy-var") != "active":
		return "KMP_BLOCKTIME=0"
	case x.setting("kmp-blocktime-var") != "":
		return "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0"
	case count.Name != "" && passive:
		return count.Name + "=0"
	case count.Name != "":
		return "OMP_WAIT_POLICY=passive without " + count.Name + "=" + count.Value
	}
	return "OMP_WAIT_POLICY=passive"
}

// spinCount is the variable of the environment, beside the standard's and the block time, that
// says how often threads look before they sleep; empty if it is not set.
func spinCount(x *index) picture.Variable {
	for _, v := range x.facts.Environment {
		if v.Purpose == picture.PurposeSpin && v.State == picture.VariableSet && v.Name != "OMP_WAIT_POLICY" &&
			v.Name != "KMP_BLOCKTIME" {
			return v
		}
	}
	return picture.Variable{}
}

// crashed reports whether the program died of a fault, or was ended by a library: how its
// threads shared the processors does not matter then.
func crashed(x *index) bool {
	a := x.facts.Abort
	return x.facts.Fault != nil || a != nil && (a.Exception != nil || a.Component != "")
}

// idleSpinners reports whether all of some busy threads wait at barriers, awake as they were
// told to be, and none of them is kept for ever: then those that could go on wait for a
// processor, which the others have.
func idleSpinners(d *drawer, threads []busyThread) bool {
	return patienceOf(d.index) == forEver && !slices.ContainsFunc(threads, func(t busyThread) bool {
		w := d.waits[t.lwp]
		return d.isStuck(t.lwp) || w != nil && w.Kind != picture.WaitBarrier
	})
}
