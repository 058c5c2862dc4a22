package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// roll lists the members of a region that are threads of the process, and those that are not, or soon will not be.
type roll struct {
	present map[int]bool // LWPs
	numbers map[int]bool // thread numbers of these
	gone    int          // members that the runtime lists, without an LWP
	ending  []int        // LWPs of members that are ending
}

func newRoll(x *index, region picture.ID) roll {
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

// isFormed reports whether all members of a region have been in it, as the present ones show: no thread enters a
// region before all of its team do. A child after fork has copied a region of its parent and has one thread, with
// the process' own number as its LWP.
func (t roll) isFormed(x *index) bool {
	pid := x.pic.Target.PID
	for lwp := range t.present {
		if len(t.present) > 1 || len(t.ending) > 0 || pid != 0 && lwp != pid {
			return true
		}
	}
	return false
}

// findEndedThreads finds barriers of teams with a thread that has ended, or is ending, in the region: the others wait
// for it for ever.
func findEndedThreads(x *index, groups []*group) []picture.Verdict {
	var out []picture.Verdict
	seen := map[picture.ID]bool{}
	for _, b := range groups {
		region := b.waits[0].Region
		r := x.regions[region]
		if r == nil || seen[region] {
			continue
		}
		t := newRoll(x, region)
		ended := r.TeamSize - len(t.present)
		how := endedProof(x, b, ended, t.gone)
		if ended < 1 || !t.isFormed(x) || len(t.numbers) != len(t.present) || how.evidence == "" {
			continue
		}
		seen[region] = true
		out = append(out, explainEnded(x, b, r, t, how))
	}
	return out
}

// proof is the evidence for a fact and its certainty.
type proof struct {
	certainty picture.Certainty
	evidence  string // "" without evidence
}

// endedProof returns the proof that a number of members of a team are no threads of the process.
func endedProof(x *index, b *group, ended, gone int) proof {
	for _, l := range x.facts.LostThreads {
		if !slices.ContainsFunc(b.waits, func(w *picture.Wait) bool { return !slices.Contains(l.Waiting, w.Thread) }) {
			return proof{picture.Certain, l.Evidence}
		}
	}
	if gone == ended && ended > 0 {
		const lists = "the runtime lists %s of the team that the process does not have"
		return proof{picture.Likely, fmt.Sprintf(lists, threadCount(ended))}
	}
	return proof{}
}

// explainEnded returns the verdict on a barrier that waits for threads which have ended.
func explainEnded(x *index, b *group, r *picture.Region, t roll, how proof) picture.Verdict {
	var numbers []string
	for n := range r.TeamSize {
		if !t.numbers[n] {
			numbers = append(numbers, fmt.Sprint(n))
		}
	}
	v := newVerdict(picture.VerdictThreadEnded, how.certainty)
	v.Region, v.Evidence = r.ID, []string{how.evidence}
	v.Summary = fmt.Sprintf("%s of the team of %d ended inside the parallel region, and the others wait for "+
		"%s at a barrier%s", threadNumbers(numbers), r.TeamSize, pronoun(len(numbers)), barrierPlace(x, b))
	v.Explanation = "A thread that leaves a region by pthread_exit, or that something cancels, never comes to the " +
		"barriers of its team; the runtime does not notice."
	for _, w := range b.waits {
		v.Threads = append(v.Threads, w.Thread)
	}
	return v
}

func threadNumbers(numbers []string) string {
	if len(numbers) == 1 {
		return "thread " + numbers[0]
	}
	return "threads " + phrase.Some(numbers, maxNamed, len(numbers))
}

// hasLostMember reports whether a team of a runtime has lost a member that was in its region: that thread has ended.
func hasLostMember(x *index, runtime string) bool {
	return slices.ContainsFunc(x.pic.Regions, func(r picture.Region) bool {
		if r.Runtime != runtime {
			return false
		}
		t := newRoll(x, r.ID)
		return len(t.present) < r.TeamSize && t.isFormed(x)
	})
}
