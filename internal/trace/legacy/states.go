package legacy

// The states that not all documents have (ompt_state_t).
const (
	waitBarrier                 = 0x10
	waitBarrierImplicitParallel = 0x11
	waitBarrierImplicitWork     = 0x12
	waitBarrierImplicit         = 0x13
	waitBarrierExplicit         = 0x14
	waitBarrierImplementation   = 0x15
	waitBarrierTeams            = 0x16
	waitTargetMap               = 0x81
)

// states are the names of OpenMP 5.1's states without their prefix.
var states = map[uint16]string{
	0x00: "work_serial", 0x01: "work_parallel", 0x02: "work_reduction",
	waitBarrier:                 "wait_barrier",
	waitBarrierImplicitParallel: "wait_barrier_implicit_parallel",
	waitBarrierImplicitWork:     "wait_barrier_implicit_workshare",
	waitBarrierImplicit:         "wait_barrier_implicit",
	waitBarrierExplicit:         "wait_barrier_explicit",
	waitBarrierImplementation:   "wait_barrier_implementation",
	waitBarrierTeams:            "wait_barrier_teams",
	0x20:                        "wait_taskwait", 0x21: "wait_taskgroup", 0x40: "wait_mutex", 0x41: "wait_lock",
	0x42: "wait_critical", 0x43: "wait_atomic", 0x44: "wait_ordered", 0x80: "wait_target",
	waitTargetMap: "wait_target_map", 0x82: "wait_target_update",
	0x100: "idle", 0x101: "overhead", 0x102: "undefined",
}

// StateNamed returns the document's name of a state, given OpenMP's name without the prefix, or "" if the document has
// no such state.
func (d Document) StateNamed(name string) string {
	for value, n := range states {
		if n == name {
			return d.State(value)
		}
	}
	return ""
}

// State returns the document's name of a value of ompt_state_t, or "" if the document has no such state. It returns the
// name of the general state where the document has no more specific one.
func (d Document) State(value uint16) string {
	name := states[value]
	switch {
	case name == "":
		return ""
	case d == OpenMP51:
		return "ompt_state_" + name
	}
	switch value {
	case waitBarrierImplicitParallel, waitBarrierImplicitWork, waitBarrierImplementation, waitBarrierTeams:
		name = states[waitBarrierImplicit]
	case waitTargetMap:
		name = "wait_target_data"
	}
	if d == TR2016 {
		return "omp_state_" + name
	}
	switch {
	case value >= waitBarrier && value <= waitBarrierTeams:
		return "ompt_state_" + states[waitBarrier]
	case value == 0x40 || value >= 0x80 && value <= 0x82:
		return "" // it has no general state for mutexes, and no state for devices
	}
	return "ompt_state_" + name
}
