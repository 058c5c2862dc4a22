package trace

// Values of ompt_state_t. The groups of states follow each other; work comes first.
const (
	stateSync      = 0x010 // to 0x03f: barriers, taskwait, taskgroup
	stateMutex     = 0x040 // to 0x07f
	stateTarget    = 0x080
	stateUndefined = 0x102
)

// knownState is a state as far as the events that are recorded tell it, else undefined: a thread of
// which no barriers are recorded is at work, for all that its ring knows, wherever it waits.
func (h *Header) knownState(state uint32) uint32 {
	mutexes := h.Records(MutexAcquire, MutexAcquired, NestLock)
	syncs := h.Records(SyncRegion, SyncRegionWait, TaskSchedule) // in such a wait a thread executes tasks
	switch {
	case state >= stateTarget,
		state >= stateMutex && mutexes,
		state >= stateSync && state < stateMutex && syncs,
		state < stateSync && mutexes && syncs:
		return state
	}
	return stateUndefined
}

// Works reports whether a thread in a state executes code of the program, and waits for nothing.
func Works(state uint32) bool { return state < stateSync }

// upper is the first bit of a region's id that is kept beside a code address (recorder_upper).
func (h *Header) upper() uint8 {
	if h.IDs == idsOurs {
		return addressBits
	}
	return 32
}

// OwnTasks reports whether the ids of tasks are the recorder's, which the runtime keeps as the words of its tool.
func (h *Header) OwnTasks() bool { return h.IDs == idsOurs || h.IDs == idsRegions }

// OfCalls reports whether the recorder took the calls of GNU's runtime itself (enum recorder_source), which tell which
// they are.
func (h *Header) OfCalls() bool { return h.Source == sourceCalls }

// sourceCalls is a value of enum recorder_source.
const sourceCalls = 2

// Draft reports whether the runtime tells its events by a draft of OMPT from before OpenMP 5.0.
func (h *Header) Draft() bool { return h.IDs >= idsRegions }

// doubt takes the states of a thread that what was recorded does not tell for sure: nor does it in a
// pause, until the next event.
func (h *Header) doubt(t *Thread) {
	t.State = h.knownState(t.State)
	if h.Paused || t.Last < h.Resumed {
		t.State = stateUndefined
	}
	for i := range t.Tasks {
		t.Tasks[i].State = h.knownState(t.Tasks[i].State)
	}
}
