package generated

import (
	"encoding/json"
	"slices"
	"testing"
)

const (
	// shrinkTrials bounds the smaller programs tried for one that fails.
	shrinkTrials = 60
	// attempts is the number of runs in which a program must fail again, before it is made smaller.
	attempts = 2
)

// shrink makes a program smaller while it still fails; failed reports whether it ever did. It first removes whole
// steps, from the end, then those around others; then threads, files, helpers and the styles of the remaining
// steps.
func shrink(p *Program, fails func(*Program) bool, trials int) (small *Program, failed bool) {
	for range attempts {
		if failed = fails(p); failed {
			break
		}
	}
	if !failed {
		return p, false
	}
	for shorter := true; shorter; {
		shorter = false
		for n := 0; trials > 0; {
			next := smaller(p, n)
			if next == nil {
				break
			}
			trials--
			if fails(next) {
				p, shorter = next, true
				continue // the n-th is now another one
			}
			n++
		}
		shorter = shorter && trials > 0
	}
	return p, true
}

// smaller returns the n-th of the programs that are a little smaller; nil after the last.
func smaller(p *Program, n int) *Program {
	q := clone(p)
	for _, change := range []func(*Program, *int) bool{withoutSteps, withoutAround, simpler, plainer} {
		if change(q, &n) {
			return q
		}
	}
	return nil
}

func clone(p *Program) *Program {
	text, err := json.Marshal(p)
	q := new(Program)
	if err == nil {
		err = json.Unmarshal(text, q)
	}
	if err != nil {
		panic(err)
	}
	return q
}

// lists returns all lists of steps, the outermost first.
func (p *Program) lists() []*[]*Step {
	all := []*[]*Step{&p.Body, &p.Team, &p.Combined}
	for i := range p.Helpers {
		all = append(all, &p.Helpers[i])
	}
	for i := 0; i < len(all); i++ {
		for _, s := range *all[i] {
			all = append(all, &s.Body, &s.Second)
		}
	}
	return all
}

// take decrements n, and reports whether this is the selected one.
func take(n *int) bool {
	*n--
	return *n == -1
}

// withoutSteps removes the n-th step.
func withoutSteps(p *Program, n *int) bool {
	for _, list := range p.lists() {
		for i := len(*list) - 1; i >= 0; i-- {
			if (*list)[i].Kind != Wrong && take(n) {
				*list = slices.Delete(*list, i, i+1)
				return true
			}
		}
	}
	return false
}

// withoutAround replaces the n-th step by its body. A step that is valid in a task or while an object is held is
// valid anywhere.
func withoutAround(p *Program, n *int) bool {
	for _, list := range p.lists() {
		for i, s := range *list {
			if len(s.Body)+len(s.Second) > 0 && take(n) {
				*list = slices.Replace(*list, i, i+1, slices.Concat(s.Body, s.Second)...)
				return true
			}
		}
	}
	return false
}

// simpler makes the program as a whole simpler.
func simpler(p *Program, n *int) bool {
	if p.Threads > 2 && take(n) {
		p.Threads--
		for _, list := range p.lists() {
			for _, s := range *list {
				if s.Kind == Wrong {
					s.N = min(s.N, p.Threads-1)
				}
			}
		}
		return true
	}
	if p.Far != 0 && take(n) {
		p.Far = 0
		return true
	}
	if p.Fortran && take(n) {
		p.Fortran = false
		return true
	}
	if p.Dynamic && p.Mistake != TeamTooSmall && take(n) {
		p.Dynamic = false
		return true
	}
	for _, number := range []*int{&p.Way, &p.Object, &p.Limit} {
		if *number != 0 && take(n) {
			*number = 0
			return true
		}
	}
	for i, h := range p.Helpers {
		if len(h) > 0 && take(n) {
			p.Helpers[i] = nil
			return true
		}
	}
	return false
}

// plainer writes the n-th step in its first style, or takes the first object.
func plainer(p *Program, n *int) bool {
	for _, list := range p.lists() {
		for _, s := range *list {
			if s.Style > 0 && s.Kind != Wrong && take(n) {
				s.Style = 0
				return true
			}
			if s.Way > 0 && take(n) {
				s.Way = 0
				return true
			}
			if s.N > 1 && s.Kind != Wrong && s.Kind != Take && take(n) {
				s.N = 1
				return true
			}
		}
	}
	return false
}

// steps counts the steps of a program.
func (p *Program) steps() int {
	n := 0
	for _, list := range p.lists() {
		n += len(*list)
	}
	return n
}

// TestShrink shrinks a big program to the single step that makes it fail.
func TestShrink(t *testing.T) {
	has := func(p *Program) bool { // a single in which an object is taken
		for _, list := range p.lists() {
			for _, s := range *list {
				if s.Kind == Single && slices.ContainsFunc(s.Body, func(s *Step) bool { return s.Kind == Take }) {
					return true
				}
			}
		}
		return false
	}
	tried := 0
	for seed := uint64(1); tried < 5; seed++ {
		p := New(seed)
		if !has(p) || p.steps() < 20 {
			continue
		}
		tried++
		small, failed := shrink(p, has, 10_000)
		want := 2
		if p.Mistake != Healthy {
			want++ // the mistake stays
		}
		if !failed || !has(small) || small.steps() != want || small.Threads != 2 || small.Far != 0 {
			text, _ := json.Marshal(small)
			t.Errorf("seed %d: %d steps of %d: %s", seed, small.steps(), p.steps(), text)
		}
	}
}
