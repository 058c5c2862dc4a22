package recordtest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// BenchmarkCost measures constructs on one thread without a tool (alone), with a tool whose callbacks return at
// once (called) or read the clock (clock), and with the recorder (recorded): the minimum of alternating runs, in
// nanoseconds. The difference between recorded and clock is the recorder's own cost; every tool has that of
// clock.
//
// The program of GCC that runs on its own runtime, which does not support tools, is measured alone and recorded.
func BenchmarkCost(b *testing.B) {
	exe := build(b, "clang-16", "cost.c", "-fopenmp", "-O2")
	called := "OMP_TOOL_LIBRARIES=" + build(b, "gcc", "called.c", "-shared", "-fPIC", "-O2")
	tools := []costTool{
		{"alone", []string{"OMP_TOOL=disabled"}},
		{"called", []string{called}},
		{"clock", []string{called, "CLOCK=1"}},
		{"recorded", []string{"OMP_TOOL_LIBRARIES=" + omptest.Recorder(b)}},
	}
	for _, runtime := range omptest.Runtimes(b) {
		b.Run(runtime.Name, func(b *testing.B) { costs(b, exe, runtime, tools) })
	}
	exe = build(b, "gcc", "cost.c", "-fopenmp", "-O2")
	runtime := omptest.Libgomp(b)
	b.Run(runtime.Name, func(b *testing.B) {
		costs(b, exe, runtime, []costTool{{"alone", nil}, {"recorded", []string{"LD_PRELOAD=" + omptest.Recorder(b)}}})
	})
}

// costTool is a tool and the environment that loads it.
type costTool struct {
	name string
	env  []string
}

// costs reports the minimum for each construct with each tool.
func costs(b *testing.B, exe string, runtime omptest.Runtime, tools []costTool) {
	b.Helper()
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
}
