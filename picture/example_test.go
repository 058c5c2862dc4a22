package picture_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A picture is what `ompd-inspect report --json` prints: which threads wait, and where.
func Example() {
	b, err := os.ReadFile("../testdata/golden/gnu-barrier/picture.json")
	if err != nil {
		log.Fatal(err)
	}
	pic := new(picture.Picture)
	if err := json.Unmarshal(b, pic); err != nil {
		log.Fatal(err)
	}
	for _, t := range pic.Threads {
		if t.State != nil && len(t.UserStack) > 0 {
			fmt.Printf("thread %d of %d: %s in %s\n", *t.ThreadNum, *t.TeamSize, t.State.Name, t.UserStack[0].Function)
		}
	}
	// Output:
	// thread 3 of 4: work_parallel in raise
	// thread 0 of 4: wait_barrier_explicit in <OMP-explicit_barrier>
	// thread 2 of 4: wait_barrier_explicit in <OMP-explicit_barrier>
	// thread 1 of 4: wait_barrier_explicit in <OMP-explicit_barrier>
}
