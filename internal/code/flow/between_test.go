package flow

import (
	"math/rand/v2"
	"testing"
)

// TestReached compares the instructions found block by block with those of a walk from instruction to
// instruction, for functions of libgomp. It also checks that each block is followed at most once.
func TestReached(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pairs := 0
	for name, f := range libgompFunctions(t) {
		if err := f.ensureDecoded(); err != nil {
			t.Fatal(err)
		}
		steps := [2][][]int{make([][]int, len(f.insts)), make([][]int, len(f.insts))}
		for i := range f.insts {
			for _, n := range nextOf(f, i) {
				steps[0][i], steps[1][n] = append(steps[0][i], n), append(steps[1][n], i)
			}
		}
		for range 10 {
			from, not := random.IntN(len(f.insts)), random.IntN(len(f.insts)+1)-1
			if random.IntN(4) == 0 {
				not = from
			}
			for k, backward := range []bool{false, true} {
				pairs++
				f.visited = 0
				got := f.reachedFrom(from, not, backward)
				if f.visited > len(f.blocks) {
					t.Errorf("%s: %d blocks of %d followed", name, f.visited, len(f.blocks))
				}
				for i, want := range walk(steps[k], from, not) {
					if got.contains(i) != want {
						t.Fatalf("%s: from %d, not %d, backward %v: %d: %v", name, from, not, backward, i, !want)
					}
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("%d pairs", pairs)
	}
}

// nextOf returns the instructions that may follow instruction i.
func nextOf(f *Function, i int) []int {
	blk := &f.blocks[f.owner[i]]
	if i+1 < blk.last {
		return []int{i + 1}
	}
	var out []int
	for _, s := range blk.succ {
		out = append(out, f.blocks[s].first)
	}
	return out
}

// walk returns the instructions that can be reached from one in at least one step without passing another.
func walk(steps [][]int, from, not int) []bool {
	seen := make([]bool, len(steps))
	for work := []int{from}; len(work) > 0; {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, n := range steps[i] {
			if !seen[n] && n != not {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	return seen
}
