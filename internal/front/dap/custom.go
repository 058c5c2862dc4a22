package dap

import (
	"context"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The requests and the event that the protocol does not have. Their names and bodies are a
// contract: docs/dap.md.
const (
	requestPicture   = "ompd/picture"
	requestRegions   = "ompd/regions"
	requestWaitGraph = "ompd/waitGraph"
	requestLook      = "ompd/look"
	eventChanged     = "ompd/changed"
)

// changed says that there is a new look.
type changed struct {
	Look     int                   `json:"look"` // how many there were
	Kind     picture.TargetKind    `json:"kind"` // of the target: core, process
	Held     bool                  `json:"held"` // a process that stands still until it is continued
	Verdicts []picture.VerdictKind `json:"verdicts"`
}

// changed describes the present look.
func (a *adapter) changed() changed {
	c := changed{Look: a.looks, Kind: a.view.pic.Target.Kind, Held: a.held, Verdicts: []picture.VerdictKind{}}
	for _, v := range a.view.pic.Verdicts {
		c.Verdicts = append(c.Verdicts, v.Kind)
	}
	return c
}

// picture gives the whole picture, in its own form.
func (v *view) picture(context.Context, nothing) (*picture.Picture, error) { return v.pic, nil }

// regions are the regions with the threads that the client knows.
type regions struct {
	Regions []region `json:"regions"`
	// Others are threads of no region.
	Others []member `json:"others"`
}

// region is a region of a picture with its members by number.
type region struct {
	picture.Region
	Members []member `json:"members"`
}

// member is a thread as the client knows it.
type member struct {
	ThreadID  int               `json:"threadId"`
	Name      string            `json:"name"`
	LWP       int               `json:"lwp,omitempty"`
	ThreadNum *int              `json:"thread_num,omitempty"`
	State     picture.StateName `json:"state,omitempty"`
}

// regions lists regions, outer ones first, with the threads whose innermost region each is.
func (v *view) regions(context.Context, nothing) (regions, error) {
	out := regions{Regions: make([]region, len(v.pic.Regions)), Others: []member{}}
	for i, r := range v.pic.Regions {
		out.Regions[i] = region{r, []member{}}
	}
	for _, t := range v.order {
		m := member{ThreadID: t.id, Name: v.nameOf(t), LWP: t.LWP, ThreadNum: t.ThreadNum}
		if t.State != nil {
			m.State = t.State.Name
		}
		if i := v.regionAt(t.Region); i >= 0 && t.ThreadNum != nil {
			out.Regions[i].Members = append(out.Regions[i].Members, m)
			continue
		}
		out.Others = append(out.Others, m)
	}
	return out, nil
}
