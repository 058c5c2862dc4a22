package trace

// Values of ompt_state_t. The states are in groups by value; work is first.
const (
	stateSync      = 0x010 // to 0x03f: barriers, taskwait, taskgroup
	stateMutex     = 0x040 // to 0x07f
	stateTarget    = 0x080
	stateUndefined = 0x102
)

// knownState returns a state, or undefined if the recorded events cannot determine it. For example, if barriers
// are not recorded, a thread seems to work while it waits in one.
func (h *Header) knownState(state uint32) uint32 {
	mutexes := h.Records(MutexAcquire, MutexAcquired, NestLock)
	syncs := h.Records(SyncRegion, SyncRegionWait, TaskSchedule) // in such a wait, a thread may execute tasks
	switch {
	case state >= stateTarget,
		state >= stateMutex && mutexes,
		state >= stateSync && state < stateMutex && syncs,
		state < stateSync && mutexes && syncs:
		return state
	}
	return stateUndefined
}

// Works reports whether a thread in a state executes code of the program without waiting.
func Works(state uint32) bool { return state < stateSync }

// upper returns the position of the bits of a region's id that a record stores with a code address
// (recorder_upper).
func (h *Header) upper() uint8 {
	if h.IDs == idsOurs {
		return addressBits
	}
	return 32
}

// OwnTasks reports whether the ids of tasks are the recorder's, which the runtime keeps as tool data.
func (h *Header) OwnTasks() bool { return h.IDs == idsOurs || h.IDs == idsRegions }

// OfCalls reports whether the recorder intercepted the calls of GNU's runtime itself (enum recorder_source),
// and so knows each call.
func (h *Header) OfCalls() bool { return h.Source == sourceCalls }

// sourceCalls is a value of enum recorder_source.
const sourceCalls = 2

// Draft reports whether the runtime implements a draft of OMPT from before OpenMP 5.0.
func (h *Header) Draft() bool { return h.IDs >= idsRegions }

// doubt removes the states of a thread that the recorded events do not prove; after a pause, until the next
// event.
func (h *Header) doubt(t *Thread) {
	t.State = h.knownState(t.State)
	if h.Paused || t.Last < h.Resumed {
		t.State = stateUndefined
	}
	for i := range t.Tasks {
		t.Tasks[i].State = h.knownState(t.Tasks[i].State)
	}
}
