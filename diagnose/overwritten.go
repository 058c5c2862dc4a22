package diagnose

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// overwritten tells of runtimes whose own memory was overwritten. Of a process that was
// changing while it was read, nothing is concluded.
func overwritten(d *drawer) []picture.Verdict {
	if p := d.pic.Target.Pause; p != nil && (p.Unsettled > 0 || p.Running > 0) {
		return nil
	}
	var out []picture.Verdict
	for _, r := range d.pic.Runtimes {
		if len(r.Damage) == 0 {
			continue
		}
		v := picture.Verdict{
			Kind: picture.VerdictOverwritten, Severity: picture.SeverityCrash, Certainty: picture.Likely,
			Summary: fmt.Sprintf("the memory of the %s was overwritten: its fields contradict one another", r.Name),
			Explanation: "The program has probably written past the end of an array, or to memory that it had freed. " +
				"Nothing that the runtime keeps is to be believed from there on: which regions and teams there are, " +
				"who is idle, and the numbers that omp_get_thread_num and its like return.",
			Evidence: r.Damage,
			Fix: "build the program with -fsanitize=address, or run it in valgrind, to find the first write that is " +
				"out of bounds",
		}
		if crashed := d.pic.Target.CrashedLWP; crashed != 0 {
			v.Threads = []int{crashed}
		}
		out = append(out, v)
	}
	return out
}
