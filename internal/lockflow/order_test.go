package lockflow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestReturnedInAnyOrder computes the results of functions that call each other, also recursively, in random
// orders and after the values of some were followed. The answers are the same in each order. A function that
// writes memory, directly or through a callee, is never considered pure.
func TestReturnedInAnyOrder(t *testing.T) {
	const graphs, orders = 200, 12
	for seed := range uint64(graphs) {
		random := rand.New(rand.NewPCG(seed, 1))
		code := assemble(t, randomCalls(random))
		names := slices.Sorted(maps.Keys(code.entries))
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "f") })
		var want map[string]string
		for range orders {
			random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			p, got := code.open(nil), map[string]string{}
			for _, n := range names[:random.IntN(len(names))] {
				p.FlowAt(code.entries[n]).Sites()
			}
			for _, n := range names {
				r := callResult(p, symbolic.Target{Name: n, Entry: code.entries[n]})
				got[n] = fmt.Sprint(r.Pure, r.Value)
				if r.Pure && code.mayWrite(n) {
					t.Fatalf("seed %d, order %v: %s writes memory, and is taken for one that does not", seed, names, n)
				}
			}
			if want == nil {
				want = got
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d, order %v: %v, before %v", seed, names, got, want)
			}
		}
	}
}

// randomCalls returns functions that call some of each other. Some write memory, and some return in two places.
func randomCalls(random *rand.Rand) map[string]string {
	const functions, calls = 6, 3
	out := map[string]string{}
	for i := range functions {
		var lines []string
		if random.IntN(2) == 0 {
			lines = append(lines, "maybe 2", "result 1", "return")
		}
		for range random.IntN(calls) {
			if random.IntN(2) == 0 {
				lines = append(lines, "maybe 1")
			}
			lines = append(lines, fmt.Sprintf("call f%d", random.IntN(functions)))
		}
		if random.IntN(3) == 0 {
			lines = append(lines, "store")
		}
		out[fmt.Sprintf("f%d", i)] = strings.Join(append(lines, fmt.Sprintf("result %d", random.IntN(3))), "\n")
	}
	return out
}

// mayWrite reports whether a function writes memory, directly or through a callee.
func (p *program) mayWrite(name string) bool {
	seen := map[string]bool{}
	work := []string{name}
	for len(work) > 0 {
		n := work[0]
		work = work[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, line := range strings.Split(p.texts[n], "\n") {
			if line == "store" {
				return true
			}
			if callee, calls := strings.CutPrefix(line, "call "); calls {
				work = append(work, callee)
			}
		}
	}
	return false
}

// TestSpentLater exhausts the meter's budget after each possible amount of work. After Retarget without a meter,
// the Program gives the same answers as one that was never bounded.
func TestSpentLater(t *testing.T) {
	code := assemble(t, functions)
	list := []*Thread{code.thread(1, "work", 0, "update", 2), code.thread(2, "work", 0, "perhaps", 3),
		code.thread(3, "work", 0, "finish", 5)}
	ask := func(p *Program) string {
		var out []string
		l := NewLook(p, func() []*Thread { return list })
		for _, h := range l.Holders(Lock{rtl.FamilyLock, 64}) {
			out = append(out, fmt.Sprint(h.Thread.ID, h.Frame, h.Certainty, len(h.Taken)))
		}
		return strings.Join(out, ", ")
	}
	want := ask(code.open(nil))
	if want == "" {
		t.Fatal("nobody has the lock")
	}
	cut := 0
	for limit := 1; ; limit++ {
		meter := &limited{left: limit}
		p := code.open(meter)
		if ask(p) != want {
			cut++
		}
		p.Retarget(Config{Arch: p.cfg.Arch, Mem: code, Code: code})
		if got := ask(p); got != want {
			t.Fatalf("after %d units of work: %s, want %s", limit, got, want)
		}
		if meter.left > 0 {
			break
		}
	}
	if cut == 0 {
		t.Error("no bound changed an answer")
	}
}

// limited is a Meter with a budget.
type limited struct{ left int }

func (l *limited) Spend(work int) error {
	if l.left -= work; l.left < 0 {
		return errEnough
	}
	return nil
}
