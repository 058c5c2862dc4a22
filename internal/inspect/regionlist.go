package inspect

import "unsafe"

import "github.com/ompd-inspect/ompd-inspect/picture"

// regionLister makes the regions of a picture.
type regionLister struct {
	notes   *notes
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
		if l.notes.over("regions") {
			break
		}
		r := l.region(v)
		l.notes.hold("regions", 2*(unsafe.Sizeof(r)+uintptr(len(r.Threads))*unsafe.Sizeof(0)))
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
		if !l.notes.beyond(v.err, "regions") {
			r.Errors = append(r.Errors, message(v.err))
		}
		return r
	}
	for _, m := range l.regions.present(v) {
		r.Threads = append(r.Threads, m.lwp)
	}
	for _, err := range v.memberErrs {
		if !l.notes.beyond(err, "regions") {
			r.Errors = append(r.Errors, message(err))
		}
	}
	if v.h.Level > 0 {
		r.Function = l.model.regionCode(v)
	}
	return r
}
