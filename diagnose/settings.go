package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// settings are the variables of the program's environment, and the runtime's control variables.
type settings struct{ facts *picture.Facts }

// variables returns the variables of the environment for a purpose that are set, as NAME=value, and whether one of them
// has a value that means always.
func (s settings) variables(purpose picture.VariablePurpose) (set []string, always bool) {
	for _, v := range s.facts.Environment {
		if v.Purpose == purpose && v.State == picture.VariableSet {
			set = append(set, v.Name+"="+v.Value)
			always = always || v.AlwaysSpins
		}
	}
	return set, always
}

// environment returns a variable of the environment; known reports whether the environment could be read.
func (s settings) environment(name string) (value string, set, known bool) {
	for _, v := range s.facts.Environment {
		if v.Name == name {
			return v.Value, v.State == picture.VariableSet, v.State == picture.VariableSet ||
				v.State == picture.VariableUnset
		}
	}
	return "", false, false
}

// control returns a control variable of a runtime, "" if it is unknown.
func (s settings) control(name string) string {
	for _, v := range s.facts.Settings {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// origin returns the origin of a value: the environment, or a call of the API if the environment does not set it.
func (s settings) origin(name, call string) string {
	value, set, known := s.environment(name)
	switch {
	case set:
		return fmt.Sprintf(" (the environment has %s=%s)", name, value)
	case known:
		return fmt.Sprintf(" (%s is not set: the default, or by %s)", name, call)
	}
	return ""
}

// dynamicFix returns the setting by which a team gets all requested threads. Where the environment does not set
// dyn-var, the program does, and would overrule the environment.
func (s settings) dynamicFix() string {
	if _, set, known := s.environment("OMP_DYNAMIC"); known && !set {
		return "call omp_set_dynamic(0) before the region if the number must be exact"
	}
	return "set OMP_DYNAMIC=false if the number must be exact"
}

// patience is the time for which threads spin while they wait, before they sleep.
type patience int

const (
	spinsAWhile patience = iota // the default of the runtimes, or unknown
	neverSpins                  // threads sleep at once
	alwaysSpins                 // threads spin all the time
)

// patience returns the patience by the environment or the runtime's control variables. The wait policy of LLVM's
// runtime is passive by default, and lets threads spin for a while.
func (s settings) patience() patience {
	if _, always := s.variables(picture.PurposeSpin); always || s.control("wait-policy-var") == "active" ||
		s.control("kmp-blocktime-var") == "infinite" {
		return alwaysSpins
	}
	blocktime := strings.TrimRight(s.control("kmp-blocktime-var"), "mus")
	policy, _, _ := s.environment("OMP_WAIT_POLICY")
	count := s.spinCount().Value
	if blocktime == "0" || blocktime == "" && (count == "0" || count == "" && strings.EqualFold(policy, "passive")) {
		return neverSpins
	}
	return spinsAWhile
}

// waitPolicy returns the settings that decide for how long threads spin, in parentheses; "" if all are unknown.
func (s settings) waitPolicy() string {
	var parts []string
	for _, name := range []string{"wait-policy-var", "kmp-blocktime-var"} {
		if v := s.control(name); v != "" {
			parts = append(parts, name+": "+v)
		}
	}
	set, _ := s.variables(picture.PurposeSpin)
	if parts = append(parts, set...); len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// alwaysSpinsFor reports whether threads spin in a kind of wait whatever the block time: LLVM's runtime uses that time
// at barriers and for tasks, not in its own locks.
func (s settings) alwaysSpinsFor(kind picture.WaitKind) bool {
	switch kind {
	case picture.WaitLock, picture.WaitNestLock, picture.WaitCritical, picture.WaitAtomic, picture.WaitReduction:
		return s.areOfLLVM()
	}
	return false
}

// areOfLLVM reports whether the settings are those of LLVM's runtime: no other one has a block time.
func (s settings) areOfLLVM() bool { return s.control("kmp-blocktime-var") != "" }

// sleepFix returns the settings by which waiting threads sleep, without those that are in force already. locks is the
// number of threads that spin for locks whatever the block time, others that of all others.
func (s settings) sleepFix(locks, others int) string {
	if locks == 0 {
		return s.policyFix()
	}
	const futex = "KMP_LOCK_KIND=futex"
	if others == 0 {
		return futex
	}
	return futex + " " + s.policyFix()
}

// policyFix returns the settings by which threads sleep that wait for a team or for tasks.
func (s settings) policyFix() string {
	policy, _, _ := s.environment("OMP_WAIT_POLICY")
	passive := strings.EqualFold(policy, "passive")
	switch count := s.spinCount(); {
	case s.areOfLLVM() && s.control("wait-policy-var") != "active":
		return "KMP_BLOCKTIME=0"
	case s.areOfLLVM():
		return "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0"
	case count.Name != "" && passive:
		return count.Name + "=0"
	case count.Name != "":
		return "OMP_WAIT_POLICY=passive without " + count.Name + "=" + count.Value
	}
	return "OMP_WAIT_POLICY=passive"
}

// spinCount returns the variable of the environment, other than the standard's and the block time, that sets how often
// threads look before they sleep; empty if it is not set.
func (s settings) spinCount() picture.Variable {
	for _, v := range s.facts.Environment {
		if v.Purpose == picture.PurposeSpin && v.State == picture.VariableSet && v.Name != "OMP_WAIT_POLICY" &&
			v.Name != "KMP_BLOCKTIME" {
			return v
		}
	}
	return picture.Variable{}
}

// threadsFix returns the setting for n threads, or an explanation if the environment has it already.
func (s settings) threadsFix(n int) string {
	if v, _, _ := s.environment("OMP_NUM_THREADS"); v == strconv.Itoa(n) {
		return ": the program asks for more than OMP_NUM_THREADS=" + v +
			", by num_threads, nested regions or several threads that fork"
	}
	return ": OMP_NUM_THREADS=" + strconv.Itoa(n)
}

// ownProcessorFix returns the settings that give each thread a processor of its own.
func (s settings) ownProcessorFix() string {
	if bind, _, _ := s.environment("OMP_PROC_BIND"); strings.EqualFold(bind, "spread") {
		return "give the program more processors, or remove the binding"
	}
	return "give each thread a processor of its own: OMP_PROC_BIND=spread OMP_PLACES=cores, or remove the binding"
}
