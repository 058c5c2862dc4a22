package text

import "github.com/ompd-inspect/ompd-inspect/picture"

// teamNumbers maps threads to their numbers in regions.
type teamNumbers map[teamMember]teamNumber

// teamMember is a thread, by its LWP, in a region.
type teamMember struct {
	region picture.ID
	lwp    int
}

// teamNumber is the number of a thread in a team. size is 0 if it is unknown.
type teamNumber struct{ num, size int }

// newTeamNumbers returns the numbers of threads in all their regions.
func newTeamNumbers(ts []picture.Thread) teamNumbers {
	out := teamNumbers{}
	for i := range ts {
		for _, l := range ts[i].Levels {
			if l.Level == 0 || l.ThreadNum == nil {
				continue
			}
			n := teamNumber{num: *l.ThreadNum}
			if l.TeamSize != nil {
				n.size = *l.TeamSize
			}
			out[teamMember{l.Region, ts[i].LWP}] = n
		}
	}
	return out
}

// ofMembers returns the numbers of the members of a region. The members are in the order of their numbers, so that a
// complete team needs no further data. It is not ok if a number is unknown.
func (n teamNumbers) ofMembers(r picture.Region) (nums []int, ok bool) {
	if r.TeamSize > 0 && len(r.Threads)%r.TeamSize == 0 && (r.ID != "" || len(r.Threads) == r.TeamSize) {
		for num := range r.TeamSize {
			nums = append(nums, num)
		}
		return nums, true
	}
	for _, lwp := range r.Threads {
		one, known := n[teamMember{r.ID, lwp}]
		if !known {
			return nil, false
		}
		nums = append(nums, one.num)
	}
	return nums, true
}
