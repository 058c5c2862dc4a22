package omptnames

// The states of which a document has less than the one after it (ompt_state_t).
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

// State is the name that the document gives to a value of ompt_state_t, empty if it has no
// such state. Where an older one has only a general state, it is that.
func (s Standard) State(value uint16) string {
	name := states[value]
	switch {
	case name == "":
		return ""
	case s == OpenMP51:
		return "ompt_state_" + name
	}
	switch value {
	case waitBarrierImplicitParallel, waitBarrierImplicitWork, waitBarrierImplementation, waitBarrierTeams:
		name = states[waitBarrierImplicit]
	case waitTargetMap:
		name = "wait_target_data"
	}
	if s == TR2016 {
		return "omp_state_" + name
	}
	switch {
	case value >= waitBarrier && value <= waitBarrierTeams:
		return "ompt_state_" + states[waitBarrier]
	case value == 0x40 || value >= 0x80 && value <= 0x82:
		return "" // no state of mutexes in general, nor of devices
	}
	return "ompt_state_" + name
}
