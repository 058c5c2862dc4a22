package dap

import (
	"context"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Requests and an event that the protocol does not define. Their names and bodies are a contract: docs/guide/dap.md.
const (
	requestPicture   = "ompd/picture"
	requestRegions   = "ompd/regions"
	requestWaitGraph = "ompd/waitGraph"
	requestLook      = "ompd/look"
	eventChanged     = "ompd/changed"
)

// changed is the event after a new snapshot.
type changed struct {
	Look     int                   `json:"look"` // number of snapshots so far
	Kind     picture.TargetKind    `json:"kind"` // of the target: core, process
	Held     bool                  `json:"held"` // the process is stopped until it is continued
	Verdicts []picture.VerdictKind `json:"verdicts"`
}

// changed returns the event for the current snapshot.
func (a *adapter) changed() changed {
	c := changed{Look: a.looks, Kind: a.view.pic.Target.Kind, Held: a.held, Verdicts: []picture.VerdictKind{}}
	for _, v := range a.view.pic.Verdicts {
		c.Verdicts = append(c.Verdicts, v.Kind)
	}
	return c
}

// picture returns the whole picture, in its own form.
func (v *view) picture(context.Context, nothing) (*picture.Picture, error) { return v.pic, nil }

// regions contains the regions with their threads, as known to the client.
type regions struct {
	Regions []region `json:"regions"`
	// Others lists the threads outside of all regions.
	Others []member `json:"others"`
}

// region is a region of a picture with its members by number.
type region struct {
	picture.Region
	Members []member `json:"members"`
}

// member is a thread with the client's number and name.
type member struct {
	ThreadID  int               `json:"threadId"`
	Name      string            `json:"name"`
	LWP       int               `json:"lwp,omitempty"`
	ThreadNum *int              `json:"thread_num,omitempty"`
	State     picture.StateName `json:"state,omitempty"`
}

// regions returns the regions, outer ones first. A thread is listed in its innermost region.
func (v *view) regions(context.Context, nothing) (regions, error) {
	out := regions{Regions: make([]region, len(v.pic.Regions)), Others: []member{}}
	for i, r := range v.pic.Regions {
		out.Regions[i] = region{r, []member{}}
	}
	for _, t := range v.order {
		m := member{ThreadID: t.id, Name: v.threadName(t), LWP: t.LWP, ThreadNum: t.ThreadNum}
		if t.State != nil {
			m.State = t.State.Name
		}
		if i := v.regionIndex(t.Region); i >= 0 && t.ThreadNum != nil {
			out.Regions[i].Members = append(out.Regions[i].Members, m)
			continue
		}
		out.Others = append(out.Others, m)
	}
	return out, nil
}
