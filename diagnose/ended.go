package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// roll is the members of a region that the process has, and those that it has not, or will not have.
type roll struct {
	present map[int]bool // LWPs
	numbers map[int]bool // thread numbers of these
	gone    int          // members that the runtime lists, without an LWP
	ending  []int        // LWPs of members that are ending
}

func rollOf(x *index, region picture.ID) roll {
	out := roll{present: map[int]bool{}, numbers: map[int]bool{}}
	for i := range x.pic.Threads {
		t := &x.pic.Threads[i]
		for _, l := range t.Levels {
			switch {
			case l.Region != region:
			case t.LWP == 0 || l.ThreadNum == nil:
				out.gone++
			case x.isEnding(t.LWP):
				out.ending = append(out.ending, t.LWP)
			default:
				out.present[t.LWP], out.numbers[*l.ThreadNum] = true, true
			}
		}
	}
	return out
}

// isEnding reports whether a thread is ending in a region.
func (x *index) isEnding(lwp int) bool {
	return slices.ContainsFunc(x.facts.LostThreads,
		func(l picture.LostThreads) bool { return slices.Contains(l.Ending, lwp) })
}

// formed reports whether the members of a region that are there have seen those that are not: no thread is in a region
// before all of its team are. A child after fork has copied a region of its parent's, and one thread, whose LWP
// is the process' own number.
func (t roll) formed(x *index) bool {
	pid := x.pic.Target.PID
	for lwp := range t.present {
		if len(t.present) > 1 || len(t.ending) > 0 || pid != 0 && lwp != pid {
			return true
		}
	}
	return false
}

// endedMembers finds barriers of teams of which a thread has ended, or is ending, in the region: the others
// wait for it forever.
func endedMembers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	told := map[picture.ID]bool{}
	for _, b := range d.groups {
		region := b.waits[0].Region
		r := d.regions[region]
		if r == nil || told[region] {
			continue
		}
		t := rollOf(d.index, region)
		ended := r.TeamSize - len(t.present)
		how := endedProof(d, b, ended, t.gone)
		if ended < 1 || !t.formed(d.index) || len(t.numbers) != len(t.present) || how.evidence == "" {
			continue
		}
		told[region] = true
		out = append(out, endedVerdict(d, b, r, t, how))
	}
	return out
}

// proof is how something is known, and how surely.
type proof struct {
	certainty picture.Certainty
	evidence  string // empty if it is not known
}

// endedProof is how it is known that a number of members of a team are no threads of the
// process.
func endedProof(d *drawer, b *group, ended, gone int) proof {
	for _, l := range d.facts.LostThreads {
		if !slices.ContainsFunc(b.waits, func(w *picture.Wait) bool { return !slices.Contains(l.Waiting, w.Thread) }) {
			return proof{picture.Certain, l.Evidence}
		}
	}
	if gone == ended && ended > 0 {
		const lists = "the runtime lists %s of the team that the process does not have"
		return proof{picture.Likely, fmt.Sprintf(lists, count(ended))}
	}
	return proof{}
}

func endedVerdict(d *drawer, b *group, r *picture.Region, t roll, how proof) picture.Verdict {
	var numbers []string
	for n := range r.TeamSize {
		if !t.numbers[n] {
			numbers = append(numbers, fmt.Sprint(n))
		}
	}
	v := picture.Verdict{
		Kind: picture.VerdictThreadEnded, Severity: picture.SeverityHang, Certainty: how.certainty, Region: r.ID,
		Summary: fmt.Sprintf("%s of the team of %d ended inside the parallel region, and the others wait for "+
			"%s at a barrier%s", threadNumbers(numbers), r.TeamSize, pronoun(len(numbers)), d.barrierPlace(b)),
		Explanation: "A thread that leaves a region by pthread_exit, or that something cancels, never comes to the " +
			"barriers of its team; the runtime does not notice.",
		Fix: "let each thread of a team reach the end of its region: no pthread_exit, thrd_exit or pthread_cancel " +
			"(also by a library, or a signal handler) on a thread of OpenMP's",
		Evidence: []string{how.evidence},
	}
	for _, w := range b.waits {
		v.Threads = append(v.Threads, w.Thread)
		d.atEnded[w.Thread] = true
	}
	return v
}

func threadNumbers(numbers []string) string {
	if len(numbers) == 1 {
		return "thread " + numbers[0]
	}
	return "threads " + phrase.Some(numbers, maxNamed, len(numbers))
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
