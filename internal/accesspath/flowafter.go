package accesspath

// SitesAfter returns the calls that the function may still make from a point on,
// without the one that is under way.
func (f *Flow) SitesAfter(at Point) []Site {
	f.follow()
	now, ok := f.instAt(at)
	if !ok {
		return f.sites
	}
	seen := f.reach(now, len(f.insts), f.next)
	if at.Exact {
		seen[now] = true
	}
	var out []Site
	for i, ok := range seen {
		if s, call := f.siteOf[i]; ok && call {
			out = append(out, f.sites[s])
		}
	}
	return out
}
