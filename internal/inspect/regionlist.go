package inspect

import (
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// regionLister makes the regions of a picture.
type regionLister struct {
	notes   *stacks.Notes
	regions *regionTable
	model   *userModel
	only    func(*regionView) bool // those that are asked for; nil for all
}

// list returns the tree of parallel regions, outer ones first.
func (l *regionLister) list() []picture.Region {
	var out []picture.Region
	for _, v := range l.regions.all() {
		if l.only != nil && !l.only(v) {
			continue
		}
		if l.notes.Exceeded("regions") {
			break
		}
		r := l.region(v)
		l.notes.Hold("regions", 2*(unsafe.Sizeof(r)+uintptr(len(r.Threads))*unsafe.Sizeof(0)))
		out = append(out, r)
	}
	return out
}

func (l *regionLister) region(v *regionView) picture.Region {
	r := picture.Region{
		ID: regionID(v.h), Runtime: v.rt.id, Parent: regionID(v.parent), Level: int(v.h.Level),
		ActiveLevel: v.info.ActiveLevel, TeamSize: v.info.TeamSize, Serialized: v.info.Serialized,
		League:  v.info.League,
		Threads: []int{},
	}
	if v.err != nil {
		if !l.notes.IsLimit(v.err, "regions") {
			r.Errors = append(r.Errors, stacks.Message(v.err))
		}
		return r
	}
	for _, m := range l.regions.present(v) {
		r.Threads = append(r.Threads, m.LWP)
	}
	for _, err := range v.memberErrs {
		if !l.notes.IsLimit(err, "regions") {
			r.Errors = append(r.Errors, stacks.Message(err))
		}
	}
	if v.h.Level > 0 {
		r.Function = l.model.regionCode(v)
	}
	return r
}
