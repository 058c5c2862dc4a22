// Package legacy maps OMPT's events and states to the names that they had before OpenMP 5.0: in the technical report of
// 2013 (ompt_event_t, appendix A.2) and in that of 2016 (section 5). docs/history/ompt-names.md compares the documents.
package legacy

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptnames"
)

// Document is a document with names of events; it is a flag.Value.
type Document int

// The documents. The zero value is the current one.
const (
	OpenMP51 Document = iota
	TR2013
	TR2016
)

var documents = [...]string{OpenMP51: "5.1", TR2013: "2013", TR2016: "2016"}

// String returns the text that Set takes.
func (d Document) String() string { return documents[d] }

// Set takes 2013, 2016 or 5.1.
func (d *Document) Set(text string) error {
	for i, name := range documents {
		if name == text {
			*d = Document(i)
			return nil
		}
	}
	return fmt.Errorf("names are those of 2013, 2016 or 5.1, not of %q", text)
}

// Event is the key of an event's name: the callback (ompt_callbacks_t), its kind (ompt_work_t, ompt_mutex_t,
// ompt_sync_region_t, ompt_task_status_t; the flags of an implicit task), and its endpoint
// (ompt_scope_endpoint_t; 0 for an event that is neither start nor end).
type Event struct{ Code, Kind, Endpoint uint8 }

// scopeEnd is ompt_scope_end. An event that is both start and end has the name of the start.
const scopeEnd = 2

// Name returns the document's name of an event, or "" if the document has no such event.
func (d Document) Name(e Event) string {
	if d == OpenMP51 {
		return omptnames.Callback(e.Code)
	}
	for _, r := range rows[d] {
		if r.code != e.Code || r.kinds != 0 && (e.Kind >= 64 || r.kinds>>e.Kind&1 == 0) {
			continue
		}
		if e.Endpoint == scopeEnd && r.end != "" {
			return eventPrefix + r.end
		}
		return eventPrefix + r.name
	}
	return ""
}

// Names returns all names that Name may return, in the order of their callbacks.
func (d Document) Names() (all []string) {
	if d == OpenMP51 {
		return omptnames.Callbacks()
	}
	for _, r := range rows[d] {
		all = append(all, eventPrefix+r.name)
		if r.end != "" {
			all = append(all, eventPrefix+r.end)
		}
	}
	return all
}

const eventPrefix = "ompt_event_"

// row contains the names of one callback's events of some kinds.
type row struct {
	code  uint8
	kinds uint64 // bit n: kind n; 0 all
	name  string
	end   string // of its end, if that differs
}

// The values of ompt_callbacks_t.
const (
	threadBegin = iota + 1
	threadEnd
	parallelBegin
	parallelEnd
	taskCreate
	taskSchedule
	implicitTask
	target
	targetDataOp
	targetSubmit
	controlTool
	deviceInitialize
	deviceFinalize
	deviceLoad
	deviceUnload
	syncRegionWait
	mutexReleased
	dependences
	taskDependence
	work
	masked
	targetMap
	syncRegion
	lockInit
	lockDestroy
	mutexAcquire
	mutexAcquired
	nestLock
	flush
	cancel
	reduction
	dispatch
	targetEMI
	targetDataOpEMI
	targetSubmitEMI
	targetMapEMI
)

// The recorder's codes for events of documents before OpenMP 5.0.
const (
	idle     = 69
	shutdown = 70
)

// Sets of kinds.
const (
	barriers   = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<8 | 1<<9 | 1<<10 // ompt_sync_region_t
	taskwait   = 1 << 5
	taskgroup  = 1 << 6
	lock       = 1 << 1 // ompt_mutex_t
	testLock   = 1 << 2
	nest       = 1 << 3
	testNest   = 1 << 4
	critical   = 1 << 5
	atomic     = 1 << 6
	ordered    = 1 << 7
	loops      = 1<<1 | 1<<10 | 1<<11 | 1<<12 | 1<<13 // ompt_work_t, with 5.2's kinds of loops
	sections   = 1 << 2
	executor   = 1 << 3
	others     = 1 << 4
	workshare  = 1 << 5
	completes  = 1<<1 | 1<<3        // ompt_task_status_t: complete, cancel
	switches   = 1<<2 | 1<<4 | 1<<7 // yield, detach, switch
	ofImplicit = 1 << 2             // ompt_task_implicit: the initial task belongs to no region
)
