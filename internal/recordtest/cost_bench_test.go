package recordtest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// BenchmarkCost is what constructs take on one thread without a tool (alone), with one
// whose callbacks return at once (called) or read the clock (clock), and with the recorder
// (recorded): the least of runs in turn, in nanoseconds. What recorded takes more than
// clock is the recorder's own; what clock does is everybody's.
func BenchmarkCost(b *testing.B) {
	exe := build(b, "clang-16", "cost.c", "-fopenmp", "-O2")
	called := "OMP_TOOL_LIBRARIES=" + build(b, "gcc", "called.c", "-shared", "-fPIC", "-O2")
	tools := []struct {
		name string
		env  []string
	}{
		{"alone", []string{"OMP_TOOL=disabled"}},
		{"called", []string{called}},
		{"clock", []string{called, "CLOCK=1"}},
		{"recorded", []string{"OMP_TOOL_LIBRARIES=" + omptest.Recorder(b)}},
	}
	for _, runtime := range omptest.Runtimes(b) {
		b.Run(runtime.Name, func(b *testing.B) {
			least := map[string]float64{}
			for b.Loop() {
				for _, tool := range tools {
					cmd := exec.Command(exe)
					cmd.Env = append([]string{"LD_LIBRARY_PATH=" + runtime.Dir}, tool.env...)
					out, err := cmd.CombinedOutput()
					if err != nil {
						b.Fatalf("%s: %v\n%s", tool.name, err, out)
					}
					for line := range strings.Lines(string(out)) {
						var construct string
						var took float64
						if _, err := fmt.Sscan(line, &construct, &took); err != nil {
							b.Fatalf("%q: %v", line, err)
						}
						key := construct + "-" + tool.name + "-ns"
						if before, ok := least[key]; !ok || took < before {
							least[key] = took
						}
					}
				}
			}
			for key, took := range least {
				b.ReportMetric(took, key)
			}
		})
	}
}
