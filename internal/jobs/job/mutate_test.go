package job

import (
	"encoding/json"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/mutate"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestMutatedMessages decodes mutants of the message of a node: some hundred, or as many as a campaign wants. They
// are refused, or can be shown and sent again.
func TestMutatedMessages(t *testing.T) {
	p := partOf([]Answer{
		answer(3, computing()), answer(4, waiting("MPI_Barrier")), answer(5, deadlocked()),
		answer(9, Kind{Condition: Gone}),
	})
	m := message{Size: p.size, Names: p.names, Files: p.files, Told: p.told, Lost: p.lost, Hosts: p.hostMessages()}
	for _, g := range p.groups() {
		m.Kinds = append(m.Kinds, kindMessage{[]byte(g.key[1:]), g.Set})
	}
	whole, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(Decoder).unpack(whole); err != nil {
		t.Fatal(err)
	}
	n, seed := omptest.Number(t, "messages", 300), omptest.Number(t, "seed", 1)
	accepted := 0
	for i := range n {
		text, err := mutate.JSON(rand.New(rand.NewPCG(uint64(seed+i), 29)), whole)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: %v\n%s\n%s", seed+i, p, text, debug.Stack())
				}
			}()
			if q, err := new(Decoder).unpack(text); err == nil {
				accepted++
				q.Report("j")
				encode(t, q)
			}
		}()
	}
	t.Logf("%d mutants, seeds %d to %d: %d accepted", n, seed, seed+n-1, accepted)
	if n >= 300 && (accepted == 0 || accepted == n) {
		t.Errorf("the mutants are all alike: %d of %d are accepted", accepted, n)
	}
}
