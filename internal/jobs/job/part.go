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

// Part is what is known of some ranks of a job.
type Part struct {
	size    int
	kinds   map[string]*group
	members members
	names   map[Site]Name
	files   map[string]File   // in which sites are, by what the sites say
	told    map[int][]string  // verdicts on ranks that were looked at in detail, in words
	heard   map[string]bool   // hosts that answered
	lost    map[string]string // hosts that did not answer, and why
	ranks   Set
	// pictures of ranks as JSON, if they were asked for: on their way to a file
	pictures map[int]json.RawMessage
}

// File is a file in which sites are.
type File struct {
	ID   string `json:"id,omitempty"`   // build ID, in hexadecimal digits; empty if it has none
	Path string `json:"path,omitempty"` // where the ranks have it
}

// group is a kind and the ranks that are of it.
type group struct {
	key  string // equal kinds have equal keys; the greater one counts
	kind Kind
	Set
}

// NewPart returns an empty one.
func NewPart() *Part {
	return &Part{kinds: map[string]*group{}, names: map[Site]Name{}, files: map[string]File{},
		told: map[int][]string{}, heard: map[string]bool{}, lost: map[string]string{}}
}

// Ranks are the ranks of which something is known.
func (p *Part) Ranks() Set { return p.ranks }

// Size is how many ranks the job has, as far as that is known.
func (p *Part) Size() int { return max(p.size, p.last()+1) }

func (p *Part) last() int {
	if p.ranks.Len() == 0 {
		return -1
	}
	return int(p.ranks.bits.Maximum())
}

// Member is what is known of one rank by itself; not ok if nothing is.
func (p *Part) Member(rank int) (m Member, ok bool) {
	return p.members.get(rank)
}

// Hear notes that a host answered.
func (p *Part) Hear(host string) { p.heard[host] = true }

// Heard reports whether a host answered.
func (p *Part) Heard(host string) bool { return p.heard[host] }

// Explain adds what was found of a rank that was looked at in detail: what its sites are
// called, and its verdicts in words. Its kind stays as it is, since that is of another moment.
func (p *Part) Explain(a Answer, words []string) {
	p.join(a.Names)
	p.joinFiles(a.Files)
	if a.Rank >= 0 && a.Rank < MaxRanks && len(words) > 0 {
		p.tell(a.Rank, words)
	}
}

// Show adds the picture of a rank, as JSON. Of two for one rank one counts, the same whichever
// comes first.
func (p *Part) Show(rank int, text json.RawMessage) {
	if p.pictures == nil {
		p.pictures = map[int]json.RawMessage{}
	}
	if bytes.Compare(p.pictures[rank], text) < 0 {
		p.pictures[rank] = text
	}
}

// TakePictures returns the pictures of ranks, as JSON, which p does not have any more then.
func (p *Part) TakePictures() map[int]json.RawMessage {
	out := p.pictures
	p.pictures = nil
	return out
}

// tell notes the verdicts on a rank; of two such lists, the same counts whichever comes first.
func (p *Part) tell(rank int, words []string) {
	if slices.Compare(p.told[rank], words) < 0 {
		p.told[rank] = words
	}
}

// Rename gives sites names; those that have a line win.
func (p *Part) Rename(names map[Site]Name) { p.join(names) }

// Called is what a site is called.
func (p *Part) Called(s Site) Name { return p.names[s] }

// Unnamed are the files of sites, with the sites in them that have no line yet.
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

// Offset is where a site is in its file; not ok if it is in none.
func (s Site) Offset() (offset uint64, ok bool) {
	_, digits, ok := strings.Cut(string(s), "+")
	if !ok {
		return 0, false
	}
	offset, err := strconv.ParseUint(digits, 16, 64)
	return offset, err == nil
}

// Lose notes that a host did not answer.
func (p *Part) Lose(host, why string) { p.lost[host] = max(p.lost[host], why) }

// Add adds an answer. Of two for one rank one counts, the same whichever comes first.
func (p *Part) Add(a Answer) {
	if a.Rank >= 0 && !p.ranks.Has(a.Rank) {
		p.put(a)
		return
	}
	q := NewPart()
	q.put(a)
	p.Merge(q)
}

// put adds an answer for a rank of which there is none.
func (p *Part) put(a Answer) {
	if a.Rank < 0 || a.Rank >= MaxRanks {
		return
	}
	a.Threads = slices.Clone(a.Threads)
	slices.SortFunc(a.Threads, compareCounts)
	p.group(newGroup(a.Kind)).Add(a.Rank)
	p.ranks.Add(a.Rank)
	p.members.set(a.Rank, a.Member)
	p.size = max(p.size, min(a.Size, MaxRanks))
	p.join(a.Names)
	p.joinFiles(a.Files)
}

// newGroup is the group of a kind, with no rank. A rank that answered is more than one that
// did not, and one that was looked at twice more than one that was seen once.
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
	text, _ := json.Marshal(k) // strings and numbers only
	return &group{key: quality + string(text), kind: k}
}

// group is the group of p of the same kind as g, a new one if there was none.
func (p *Part) group(g *group) *group {
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

// Merge adds what q knows to p. q stays as it is.
func (p *Part) Merge(q *Part) {
	p.size = max(p.size, q.size)
	p.join(q.names)
	p.joinFiles(q.files)
	for host, why := range q.lost {
		p.Lose(host, why)
	}
	for rank, words := range q.told {
		p.tell(rank, words)
	}
	maps.Copy(p.heard, q.heard)
	for rank, text := range q.pictures {
		p.Show(rank, text)
	}
	ours, theirs := map[int]string{}, map[int]string{} // of ranks that both have
	if both := p.ranks.And(q.ranks); both.Len() > 0 {
		ours, theirs = p.keys(both), q.keys(both)
	}
	weaker := map[string]*Set{} // ranks of q that p knows better, by the key of their kind
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
			add = add.Without(*less)
		}
		if add.Len() > 0 {
			p.group(g).join(add)
		}
	}
	p.ranks.join(q.ranks)
}

// keys has for each of some ranks the key of its kind.
func (p *Part) keys(ranks Set) map[int]string {
	out := map[int]string{}
	for key, g := range p.kinds {
		for r := range g.And(ranks).All {
			out[r] = key
		}
	}
	return out
}

// drop takes a rank out of its group.
func (p *Part) drop(key string, rank int) {
	g := p.kinds[key]
	if g.bits.Remove(uint32(rank)); g.Len() == 0 {
		delete(p.kinds, key)
	}
}

// groups are the kinds with their ranks, those of fewest ranks first.
func (p *Part) groups() []*group {
	return slices.SortedFunc(maps.Values(p.kinds), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Len(), b.Len()), cmp.Compare(a.First(), b.First()))
	})
}

// groupOf is the group of a rank, nil if nothing is known of it.
func (p *Part) groupOf(rank int) *group {
	for _, g := range p.kinds {
		if g.Has(rank) {
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
