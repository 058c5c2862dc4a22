package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// heapErrors are the beginnings of the C library's messages on a damaged heap.
var heapErrors = []string{
	"free(): ", "malloc(): ", "realloc(): ", "calloc(): ", "munmap_chunk(): ", "mremap_chunk(): ",
	"malloc_consolidate(): ", "double free or corruption", "corrupted ", "break adjusted to free malloc space",
}

// memoryMessage explains a message of the C library on the program's memory; it returns "" for other messages.
func memoryMessage(message string) string {
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

// findOverwrittenMemory returns the verdicts on a heap, and on runtimes, with overwritten memory of their own. It
// returns no verdict on a process that was changing while it was read.
func findOverwrittenMemory(x *index) []picture.Verdict {
	if p := x.pic.Target.Pause; p != nil && (p.Unsettled > 0 || p.Running > 0) {
		return nil
	}
	var out []picture.Verdict
	if h := x.facts.Heap; h != nil {
		out = append(out, explainHeap(h, x.pic.Target.CrashedLWP))
	}
	for _, r := range x.pic.Runtimes {
		if len(r.Damage) == 0 {
			continue
		}
		v := newVerdict(picture.VerdictOverwritten, picture.Likely)
		v.Summary = fmt.Sprintf("the memory of the %s was overwritten: its fields contradict one another", r.Name)
		v.Explanation = "The program has probably written past the end of an array, or to memory that it had freed. " +
			"What the runtime keeps of the threads that are unknown below is not to be believed: their regions " +
			"and teams, and the numbers that omp_get_thread_num and its like return. The other threads' fields " +
			"agree with one another."
		v.Evidence = r.Damage
		if crashed := x.pic.Target.CrashedLWP; crashed != 0 {
			v.Threads = []int{crashed}
		}
		out = append(out, v)
	}
	return out
}

// explainHeap returns the verdict on a crashed program with a broken chain of heap blocks.
func explainHeap(h *picture.BrokenHeap, crashed int) picture.Verdict {
	v := newVerdict(picture.VerdictOverwritten, picture.Likely)
	v.Threads = []int{crashed}
	v.Summary = fmt.Sprintf("the heap was overwritten behind a block of %s at %v", sizeText(uint64(h.High-h.Low)),
		h.Low)
	v.Explanation = "The program has probably written past the end of that block, or to memory near it that it had " +
		"freed. What lies behind it was overwritten, which may be data of the OpenMP runtime, of libraries, or " +
		"of the program: that it died is a consequence."
	v.Evidence = []string{fmt.Sprintf("malloc's header behind the block [%v, %v) says that the next one has %d "+
		"bytes, which malloc never writes there", h.Low, h.High, h.Size)}
	return v
}
