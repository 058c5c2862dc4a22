package diagnose_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The verdicts of a saved picture are drawn again from its facts, without the target.
func Example() {
	b, err := os.ReadFile("../testdata/golden/llvm-deadlock/picture.json")
	if err != nil {
		log.Fatal(err)
	}
	saved := new(picture.Picture)
	if err := json.Unmarshal(b, saved); err != nil {
		log.Fatal(err)
	}
	for _, v := range diagnose.Run(saved) {
		fmt.Printf("%s (%s): %s\n", diagnose.Title(v.Kind), v.Certainty, v.Summary)
		for _, step := range v.Cycle {
			fmt.Printf("thread %d waits for %s %s\n", step.Place.ThreadNum, step.WaitsFor.Kind, step.WaitsFor.Name)
		}
	}
	// Output:
	// DEADLOCK (certain): 2 threads wait for each other and can never proceed
	// thread 0 waits for lock second
	// thread 1 waits for lock first
}
