package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Part contains the results of some ranks of a job.
type Part struct {
	size    int
	kinds   map[string]*group
	members members
	names   map[Site]Name
	files   map[string]File   // files of the sites, by their keys in the sites
	told    map[int][]string  // verdicts on ranks that were inspected in detail, in words
	heard   map[string]bool   // hosts that answered
	lost    map[string]string // hosts that did not answer, with the reason
	ranks   Set
	// pictures of ranks as JSON, if they were requested, until they are written to files
	pictures map[int]json.RawMessage
}

// File is a file in which sites are.
type File struct {
	ID   string `json:"id,omitempty"`   // build ID, in hexadecimal digits; empty without one
	Path string `json:"path,omitempty"` // where the ranks have it
}

// group is a kind and the ranks of that kind.
type group struct {
	key  string // equal kinds have equal keys; the greater one counts
	kind Kind
	Set
}

// NewPart returns an empty Part.
func NewPart() *Part {
	return &Part{kinds: map[string]*group{}, names: map[Site]Name{}, files: map[string]File{},
		told: map[int][]string{}, heard: map[string]bool{}, lost: map[string]string{}}
}

// Ranks returns the ranks with results.
func (p *Part) Ranks() Set { return p.ranks }

// Size returns the number of ranks of the job, as far as it is known.
func (p *Part) Size() int { return max(p.size, p.last()+1) }

func (p *Part) last() int {
	if p.ranks.Len() == 0 {
		return -1
	}
	return int(p.ranks.bits.Maximum())
}

// Member returns the own data of one rank; ok is false without one.
func (p *Part) Member(rank int) (m Member, ok bool) {
	return p.members.get(rank)
}

// Hear records that a host answered.
func (p *Part) Hear(host string) { p.heard[host] = true }

// Heard reports whether a host answered.
func (p *Part) Heard(host string) bool { return p.heard[host] }

// Explain adds the results of a rank that was inspected in detail: the names of its sites, and its verdicts in
// words. The kind of the rank stays unchanged, because the results come from a later snapshot.
func (p *Part) Explain(a Answer, words []string) {
	p.join(a.Names)
	p.joinFiles(a.Files)
	if a.Rank >= 0 && a.Rank < MaxRanks && len(words) > 0 {
		p.addTold(a.Rank, words)
	}
}

// Show adds the picture of a rank, as JSON. Of two pictures for one rank the same one is kept in any order.
func (p *Part) Show(rank int, text json.RawMessage) {
	if p.pictures == nil {
		p.pictures = map[int]json.RawMessage{}
	}
	if bytes.Compare(p.pictures[rank], text) < 0 {
		p.pictures[rank] = text
	}
}

// TakePictures removes the pictures of ranks from p and returns them, as JSON.
func (p *Part) TakePictures() map[int]json.RawMessage {
	out := p.pictures
	p.pictures = nil
	return out
}

// addTold adds the verdicts on a rank; of two lists, the same one is kept in any order.
func (p *Part) addTold(rank int, words []string) {
	if slices.Compare(p.told[rank], words) < 0 {
		p.told[rank] = words
	}
}

// Rename sets names of sites; names with a line win.
func (p *Part) Rename(names map[Site]Name) { p.join(names) }

// Called returns the name of a site.
func (p *Part) Called(s Site) Name { return p.names[s] }

// Unnamed returns the files of sites, with their sites that have no line yet.
func (p *Part) Unnamed() map[File][]Site {
	out := map[File][]Site{}
	for s, n := range p.names {
		id, _, ok := strings.Cut(string(s), "+")
		if file, known := p.files[id]; ok && known && n.Line == 0 {
			out[file] = append(out[file], s)
		}
	}
	return out
}

// Offset returns the offset of a site in its file; ok is false for a site outside of files.
func (s Site) Offset() (offset uint64, ok bool) {
	_, digits, ok := strings.Cut(string(s), "+")
	if !ok {
		return 0, false
	}
	offset, err := strconv.ParseUint(digits, 16, 64)
	return offset, err == nil
}

// Lose records that a host did not answer.
func (p *Part) Lose(host, why string) { p.lost[host] = max(p.lost[host], why) }

// Add adds an answer. Of two answers for one rank the same one is kept in any order.
func (p *Part) Add(a Answer) {
	if a.Rank >= 0 && !p.ranks.Contains(a.Rank) {
		p.put(a)
		return
	}
	q := NewPart()
	q.put(a)
	p.Merge(q)
}

// put adds the first answer for a rank.
func (p *Part) put(a Answer) {
	if a.Rank < 0 || a.Rank >= MaxRanks {
		return
	}
	a.Threads = slices.Clone(a.Threads)
	slices.SortFunc(a.Threads, compareCounts)
	p.findGroup(newGroup(a.Kind)).Add(a.Rank)
	p.ranks.Add(a.Rank)
	p.members.set(a.Rank, a.Member)
	p.size = max(p.size, min(a.Size, MaxRanks))
	p.join(a.Names)
	p.joinFiles(a.Files)
}

// newGroup returns the group of a kind, without ranks. An answer counts more than a missing one, and two
// snapshots more than one.
func newGroup(k Kind) *group {
	quality := "2"
	switch {
	case k.Condition == Silent:
		quality = "0"
	case k.Condition == Unreadable || k.Condition == Gone:
		quality = "1"
	case k.Movement != SeenOnce:
		quality = "3"
	}
	text, _ := json.Marshal(k) // contains only strings and numbers
	return &group{key: quality + string(text), kind: k}
}

// findGroup returns the group of p of the same kind as g, or a new one.
func (p *Part) findGroup(g *group) *group {
	if own := p.kinds[g.key]; own != nil {
		return own
	}
	own := &group{key: g.key, kind: g.kind}
	p.kinds[g.key] = own
	return own
}

func (p *Part) join(names map[Site]Name) {
	for s, n := range names {
		if old, ok := p.names[s]; !ok || compareNames(old, n) < 0 {
			p.names[s] = n
		}
	}
}

func (p *Part) joinFiles(files map[string]File) {
	for id, f := range files {
		if old, ok := p.files[id]; !ok || cmp.Or(cmp.Compare(old.ID, f.ID), cmp.Compare(old.Path, f.Path)) < 0 {
			p.files[id] = f
		}
	}
}

// Merge adds the results of q to p. q stays unchanged.
func (p *Part) Merge(q *Part) {
	p.size = max(p.size, q.size)
	p.join(q.names)
	p.joinFiles(q.files)
	for host, why := range q.lost {
		p.Lose(host, why)
	}
	for rank, words := range q.told {
		p.addTold(rank, words)
	}
	maps.Copy(p.heard, q.heard)
	for rank, text := range q.pictures {
		p.Show(rank, text)
	}
	ours, theirs := map[int]string{}, map[int]string{} // of ranks in both
	if both := p.ranks.Intersect(q.ranks); both.Len() > 0 {
		ours, theirs = p.keys(both), q.keys(both)
	}
	weaker := map[string]*Set{} // ranks of q with a better answer in p, by the key of their kind
	for rank, key := range theirs {
		if ours[rank] <= key {
			continue
		}
		if weaker[key] == nil {
			weaker[key] = &Set{}
		}
		weaker[key].Add(rank)
	}
	p.members.merge(&q.members, func(rank int, old, other Member) bool {
		return cmp.Or(cmp.Compare(ours[rank], theirs[rank]), old.compare(other)) < 0
	})
	for rank, key := range ours {
		if key < theirs[rank] {
			p.drop(key, rank)
		}
	}
	for _, g := range q.kinds {
		add := g.Set
		if less := weaker[g.key]; less != nil {
			add = add.Subtract(*less)
		}
		if add.Len() > 0 {
			p.findGroup(g).join(add)
		}
	}
	p.ranks.join(q.ranks)
}

// keys returns the keys of the kinds of some ranks.
func (p *Part) keys(ranks Set) map[int]string {
	out := map[int]string{}
	for key, g := range p.kinds {
		for r := range g.Intersect(ranks).All {
			out[r] = key
		}
	}
	return out
}

// drop removes a rank from its group.
func (p *Part) drop(key string, rank int) {
	g := p.kinds[key]
	if g.bits.Remove(uint32(rank)); g.Len() == 0 {
		delete(p.kinds, key)
	}
}

// groups returns the kinds with their ranks, those with the fewest ranks first.
func (p *Part) groups() []*group {
	return slices.SortedFunc(maps.Values(p.kinds), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Len(), b.Len()), cmp.Compare(a.First(), b.First()))
	})
}

// groupOf returns the group of a rank, or nil.
func (p *Part) groupOf(rank int) *group {
	for _, g := range p.kinds {
		if g.Contains(rank) {
			return g
		}
	}
	return nil
}

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function), cmp.Compare(a.File, b.File))
}

func compareCounts(a, b Count) int {
	return cmp.Or(compareClasses(a.ThreadClass, b.ThreadClass), cmp.Compare(a.Threads, b.Threads))
}

func compareClasses(a, b ThreadClass) int {
	other := 0
	if a.Other != b.Other {
		if other = -1; a.Other {
			other = 1
		}
	}
	return cmp.Or(other, cmp.Compare(a.State, b.State), slices.Compare(a.Where, b.Where))
}
