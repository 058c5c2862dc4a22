package accesspath

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// BenchmarkAccessors executes ten short accessors, as needed at a start of the tool.
func BenchmarkAccessors(b *testing.B) {
	l := openLibrary(b, omptest.RuntimeOf(b, 19).Lib)
	names := []string{
		"omp_get_level", "omp_in_parallel", "omp_get_thread_num", "omp_get_dynamic", "omp_get_default_device",
		"omp_get_proc_bind", "omp_get_thread_limit", "omp_get_cancellation", "omp_get_num_threads", "omp_in_final",
	}
	var entries []uint64
	for _, n := range names {
		entries = append(entries, l.entry(n))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range entries {
			if _, err := Run(l.config(), e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
