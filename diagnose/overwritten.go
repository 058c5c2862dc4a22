package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findWrite is how a write is found that went where it should not.
const findWrite = "build the program with -fsanitize=address, or run it in valgrind, to find the first write that is " +
	"out of bounds"

// heapErrors begin what the C library says where it finds that what it keeps of the heap is
// damaged.
var heapErrors = []string{
	"free(): ", "malloc(): ", "realloc(): ", "calloc(): ", "munmap_chunk(): ", "mremap_chunk(): ",
	"malloc_consolidate(): ", "double free or corruption", "corrupted ", "break adjusted to free malloc space",
}

// ofMemory says what a message of the C library tells of the program's memory; empty if nothing.
func ofMemory(message string) string {
	begins := func(p string) bool { return strings.HasPrefix(message, p) }
	switch {
	case strings.Contains(message, "double free"):
		return "The program has probably freed the same memory twice, or written past the end of an array on the heap."
	case slices.ContainsFunc(heapErrors, begins):
		return "The program has probably written past the end of an array on the heap, or to memory that it had " +
			"freed, or freed what it had not allocated; that may have been long before."
	case strings.Contains(message, "stack smashing detected"):
		return "A function of the program has written past the end of an array on its stack."
	case strings.Contains(message, "buffer overflow detected"):
		return "The program had the C library write past the end of an array whose size the compiler knew."
	}
	return ""
}

// overwritten tells of a heap, and of runtimes, whose own memory was overwritten. Of a process that was
// changing while it was read, nothing is concluded.
func overwritten(d *drawer) []picture.Verdict {
	if p := d.pic.Target.Pause; p != nil && (p.Unsettled > 0 || p.Running > 0) {
		return nil
	}
	var out []picture.Verdict
	if h := d.facts.Heap; h != nil {
		out = append(out, heapVerdict(h, d.pic.Target.CrashedLWP))
	}
	for _, r := range d.pic.Runtimes {
		if len(r.Damage) == 0 {
			continue
		}
		v := picture.Verdict{
			Kind: picture.VerdictOverwritten, Severity: picture.SeverityCrash, Certainty: picture.Likely,
			Summary: fmt.Sprintf("the memory of the %s was overwritten: its fields contradict one another", r.Name),
			Explanation: "The program has probably written past the end of an array, or to memory that it had freed. " +
				"What the runtime keeps of the threads that are unknown below is not to be believed: their regions " +
				"and teams, and the numbers that omp_get_thread_num and its like return. The other threads' fields " +
				"agree with one another.",
			Evidence: r.Damage,
			Fix:      findWrite,
		}
		if crashed := d.pic.Target.CrashedLWP; crashed != 0 {
			v.Threads = []int{crashed}
		}
		out = append(out, v)
	}
	return out
}

// heapVerdict is the verdict on a program that died and whose heap's chain of blocks is broken.
func heapVerdict(h *picture.BrokenHeap, crashed int) picture.Verdict {
	return picture.Verdict{
		Kind: picture.VerdictOverwritten, Severity: picture.SeverityCrash, Certainty: picture.Likely,
		Threads: []int{crashed},
		Summary: fmt.Sprintf("the heap was overwritten behind a block of %s at %v", bytes(uint64(h.High-h.Low)), h.Low),
		Explanation: "The program has probably written past the end of that block, or to memory near it that it had " +
			"freed. What lies behind it was overwritten, which may be data of the OpenMP runtime, of libraries, or " +
			"of the program: that it died is a consequence.",
		Evidence: []string{fmt.Sprintf("malloc's header behind the block [%v, %v) says that the next one has %d "+
			"bytes, which malloc never writes there", h.Low, h.High, h.Size)},
		Fix: findWrite,
	}
}
