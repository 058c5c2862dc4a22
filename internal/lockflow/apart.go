package lockflow

// isApart reports whether f is in a module that cannot name an OpenMP lock. Interpreters called by OpenMP
// programs are such modules. They have thousands of functions that call each other, and following their values
// only to learn that they use no OpenMP lock costs too much.
func isApart(p *Program, f *function) bool { return p.cfg.Apart != nil && p.cfg.Apart(f.entry) }

// apartOf summarizes a function of such a module without following its values. The result is ok if the function
// calls no unknown code; followed then lists the functions that it calls or passes to other functions.
func apartOf(p *Program, f *function) *plain {
	if f.apart != nil {
		return f.apart
	}
	f.apart = &plain{}
	o := p.outlineOf(f)
	if !o.isComplete() {
		return f.apart
	}
	var followed []uint64
	for _, s := range o.calls {
		switch s.kind {
		case calleeUnknown:
			return f.apart
		case calleeFollowed:
			followed = append(followed, s.entry)
		}
	}
	f.apart.ok, f.apart.followed = true, append(followed, o.functions...)
	return f.apart
}

// effectCallees returns the functions that the effects of the function at entry on locks of a family depend on.
func effectCallees(p *Program, entry uint64, family families) []uint64 {
	f := p.codeFrom(entry)
	if f != nil && family&ofOpenMP != 0 && isApart(p, f) {
		return apartOf(p, f).followed
	}
	if f != nil && p.reaches.SummaryOf(entry).settles(family) {
		return nil
	}
	return p.calleesOf(entry)
}

// releaseSources returns the functions that decide which locks the function at entry may release. The result is
// empty if that function calls unknown code, which may release any lock.
func releaseSources(p *Program, entry uint64) []uint64 {
	f := p.codeFrom(entry)
	switch {
	case f == nil || p.plainOf(f).ok:
		return p.calleesOf(entry)
	case p.callsUnknown(f):
		return nil
	}
	for _, s := range p.callsOf(f) {
		if s.kind == calleeUnknown {
			return nil
		}
	}
	return p.calleesOf(entry)
}
