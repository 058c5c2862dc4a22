package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Regions prints the tree of parallel regions; regions that are alike are one line.
func Regions(p *Printer, pic *picture.Picture) {
	if PrintUnread(p, "REGIONS", pic.Runtimes) {
		return
	}
	n := 0
	present, children := map[picture.ID]bool{}, map[picture.ID][]picture.Region{}
	for _, r := range pic.Regions {
		present[r.ID] = true
	}
	for _, r := range pic.Regions {
		if r.Level > 0 {
			n++
		}
		parent := r.Parent
		if !present[parent] { // the region is shown alone
			parent = ""
		}
		children[parent] = append(children[parent], r)
	}
	p.printHeading("REGIONS", phrase.Count(n, "parallel region"))
	t := regionTree{p, pic, children, newTeamNumbers(pic.Threads)}
	t.print("", "  ")
}

// regionTree prints regions by their parents.
type regionTree struct {
	*Printer
	pic      *picture.Picture
	children map[picture.ID][]picture.Region
	numbers  teamNumbers
}

const (
	minAlike = 4 // adjacent regions that are alike become one line
	minChain = 4 // nested regions that are alike become one line
)

// print prints the regions within a parent.
func (t regionTree) print(parent picture.ID, indent string) {
	list := t.children[parent]
	for i := 0; i < len(list); {
		n := t.countAlike(list[i:])
		branch, next := "├─ ", "│  "
		if i+n == len(list) {
			branch, next = "└─ ", "   "
		}
		if parent == "" {
			branch, next = "", ""
		}
		r := list[i]
		if num := regionNumber(t.pic, r.ID); t.Printer.numbers && num >= 0 {
			branch += fmt.Sprintf("%d: ", num)
		}
		last := t.endOfChain(r)
		switch {
		case n > 1:
			t.printWrapped(indent+branch, t.bold(fmt.Sprintf("%d× ", n))+t.regionLine(mergeRegions(list[i:i+n]), ""))
		case last.ID != r.ID:
			t.printWrapped(indent+branch, t.regionLine(r, fmt.Sprintf("levels %d-%d (active %d)", r.Level, last.Level,
				last.ActiveLevel)))
		default:
			t.printWrapped(indent+branch, t.regionLine(r, ""))
		}
		for _, e := range t.foldErrors(r.Errors) {
			t.printWrapped(indent+next+t.amber("! "), e)
		}
		if last.ID != "" {
			t.print(last.ID, indent+next)
		}
		i += n
	}
}

// memberNumber matches the number of a thread in an error.
var memberNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bthread (number )?\d+\b`) })

// foldErrors returns the errors of a region; those that differ only in the number of the thread are one.
func (t regionTree) foldErrors(errs []string) (out []string) {
	if t.all {
		return errs
	}
	alike, first := map[string]int{}, map[string]int{}
	for _, e := range errs {
		key := memberNumber().ReplaceAllString(e, "")
		if alike[key]++; alike[key] == 1 {
			first[key] = len(out)
			out = append(out, e)
		}
	}
	for key, n := range alike {
		if n > 1 {
			out[first[key]] += fmt.Sprintf(" (and %s like it)", phrase.Count(n-1, "more thread"))
		}
	}
	return out
}

// isAlike reports whether two regions differ only in their members and levels.
func isAlike(a, b picture.Region) bool {
	return len(a.Errors) == 0 && len(b.Errors) == 0 && a.Serialized == b.Serialized && a.TeamSize == b.TeamSize &&
		a.League == b.League && phrase.CodeName(a.Function) == phrase.CodeName(b.Function) &&
		(a.Level > 0) == (b.Level > 0)
}

// countAlike returns the number of regions at the start of a list that are alike and contain no others.
func (t regionTree) countAlike(list []picture.Region) int {
	if t.all || t.Printer.numbers {
		return 1
	}
	n := 0
	for n < len(list) && isAlike(list[0], list[n]) && list[n].ID != "" && len(t.children[list[n].ID]) == 0 {
		n++
	}
	if n < minAlike {
		return 1
	}
	return n
}

// mergeRegions returns one region with the members of several that are alike.
func mergeRegions(list []picture.Region) picture.Region {
	r := list[0]
	r.Threads = nil
	complete := !slices.ContainsFunc(list, func(r picture.Region) bool { return len(r.Threads) != r.TeamSize })
	if !complete {
		r.ID = "" // the numbers of its members are not known
	}
	for _, other := range list {
		r.Threads = append(r.Threads, other.Threads...)
	}
	return r
}

// endOfChain returns the innermost of the nested regions from r on that are alike and have the same members; r itself
// if they are few.
func (t regionTree) endOfChain(r picture.Region) picture.Region {
	if t.all || t.Printer.numbers {
		return r
	}
	last, n := r, 1
	for n < len(t.pic.Regions) {
		within := t.children[last.ID]
		if last.ID == "" || len(within) != 1 || !isAlike(last, within[0]) ||
			!slices.Equal(last.Threads, within[0].Threads) {
			break
		}
		last, n = within[0], n+1
	}
	if n < minChain {
		return r
	}
	return last
}

// regionLine returns the line of one region. levels replaces its level unless it is "".
func (t regionTree) regionLine(r picture.Region, levels string) string {
	line := t.regionText(r, levels)
	if t.all {
		line += "; ID " + string(r.ID)
	}
	return line
}

func (t regionTree) regionText(r picture.Region, levels string) string {
	if r.Level == 0 && r.Parent != "" {
		return fmt.Sprintf("one team of a league of %d (level 0): %s", r.League, t.memberText(r))
	}
	switch helpers := t.areHelpers(r.Threads); {
	case r.Level == 0 && helpers:
		return "helper threads of the runtime, for target tasks (level 0): " + t.memberText(r)
	case r.Level == 0:
		return "serial code (level 0): " + t.memberText(r)
	case helpers:
		return fmt.Sprintf("team of %d helper threads: %s", r.TeamSize, t.memberText(r))
	}
	kind := "parallel"
	if r.Serialized {
		kind += ", serialized"
	}
	if levels == "" {
		levels = fmt.Sprintf("level %d (active %d)", r.Level, r.ActiveLevel)
	}
	at := cmp.Or(phrase.CodeName(r.Function), "construct unknown")
	return fmt.Sprintf("%s %s, %s, team of %d: %s", kind, t.cyan(at), levels, r.TeamSize, t.memberText(r))
}

// areHelpers reports whether all threads with the given LWPs are hidden helper threads.
func (t regionTree) areHelpers(lwps []int) bool {
	helpers := 0
	for i := range t.pic.Threads {
		if th := &t.pic.Threads[i]; th.Hidden && slices.Contains(lwps, th.LWP) {
			helpers++
		}
	}
	return helpers > 0 && helpers == len(lwps)
}

// maxNumbers bounds the numbers and ranges of the members of a region.
const maxNumbers = 6

// memberText names the members of a region: "threads 0-7 (LWP 14-21)".
func (t regionTree) memberText(r picture.Region) string {
	if len(r.Threads) == 0 {
		return "no thread at hand"
	}
	if r.Level == 0 {
		return "LWP " + t.formatLWPs(r.Threads)
	}
	lwps := "LWP " + t.formatFew(r.Threads, maxInCell)
	nums, ok := t.numbers.ofMembers(r)
	switch {
	case !ok:
		return lwps
	case len(nums) == 1:
		return fmt.Sprintf("thread %d (%s)", nums[0], lwps)
	}
	return fmt.Sprintf("threads %s (%s)", t.formatFew(nums, maxNumbers), lwps)
}
