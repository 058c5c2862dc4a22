package lockflow

// isApart reports whether f is of a module that can name no lock of OpenMP. Such are the interpreters that call
// OpenMP's users: thousands of functions that call each other, which are not followed value by value to find out
// that they do nothing with these locks.
func isApart(p *Program, f *function) bool { return p.cfg.Apart != nil && p.cfg.Apart(f.entry) }

// apartOf is what is known of a function that is apart without following its values: ok if it calls nothing of which
// it is not known what it is, and then what it calls, or hands to others.
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

// openmpCallees returns the functions on which it depends what the one at entry does with locks of OpenMP.
func openmpCallees(p *Program, entry uint64) []uint64 {
	f := p.functionAt(entry)
	if f != nil && isApart(p, f) {
		return apartOf(p, f).followed
	}
	if f != nil && p.reaches.SummaryOf(entry).settles(ofOpenMP) {
		return nil
	}
	return p.calleesOf(entry)
}

// otherCallees returns the functions on which it depends what the one at entry does with other locks.
func otherCallees(p *Program, entry uint64) []uint64 {
	if p.functionAt(entry) != nil && p.reaches.SummaryOf(entry).settles(^ofOpenMP) {
		return nil
	}
	return p.calleesOf(entry)
}

// releaseSources returns the functions that decide which locks the one at entry may release. It returns none if that
// one calls code of which nothing is known, which may release any lock.
func releaseSources(p *Program, entry uint64) []uint64 {
	f := p.functionAt(entry)
	switch {
	case f == nil || p.plainOf(f).ok:
		return p.calleesOf(entry)
	case len(p.outlineOf(f).byMemory) > 0:
		return nil
	}
	for i := range p.sitesOf(f) {
		if f.sites[i].kind == calleeUnknown {
			return nil
		}
	}
	return p.calleesOf(entry)
}
