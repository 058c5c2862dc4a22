package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// pair is one session with the proxy for gdb's adapter, and one without.
type pair struct{ through, direct *daptest.Client }

// startPair starts both sessions.
func startPair(b *testing.B) pair {
	b.Helper()
	line := []string{omptest.GdbOf(b, "sid"), "-nx", "-q", "-i", "dap"}
	through, _ := startProxy(b, buildTool(b), append([]string{"--"}, line...)...)
	return pair{through, startAlone(b, line)}
}

// compare runs the same on both sides in turn, and reports the medians and the median of the differences.
func (p pair) compare(b *testing.B, do func(c *daptest.Client, i int)) {
	b.Helper()
	var through, direct, more []float64
	for i := range b.N {
		var took [2]float64
		for side, c := range []*daptest.Client{p.through, p.direct} {
			from := time.Now()
			do(c, i)
			took[side] = float64(time.Since(from).Microseconds()) / 1000
		}
		through, direct, more = append(through, took[0]), append(direct, took[1]), append(more, took[0]-took[1])
	}
	for name, list := range map[string][]float64{"ms/proxy": through, "ms/direct": direct, "ms/more": more} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkProxyThreads measures how long an editor waits for a core of 256 threads, with the proxy for gdb
// after its first snapshot, and with gdb alone: for the list of threads, and for each stack.
func BenchmarkProxyThreads(b *testing.B) {
	exe := omptest.Compile(b, omptest.Build{Program: "mixed"})
	run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(b, 19), Mode: omptest.Gcore, Args: []string{"256"}}
	core := omptest.Dump(b, run)
	p := startPair(b)
	var all []godap.Thread
	for _, c := range []*daptest.Client{p.through, p.direct} {
		openProgram(b, c, "attach", object{"coreFile": core.Core, "program": core.Exe})
		if c == p.through {
			c.Event("ompd/changed")
		}
		all = daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	}
	b.Run("threads", func(b *testing.B) {
		p.compare(b, func(c *daptest.Client, _ int) { daptest.Ask[any](c, "threads", nil) })
	})
	b.Run("stackTrace", func(b *testing.B) {
		p.compare(b, func(c *daptest.Client, i int) {
			which := object{"threadId": all[i%len(all)].Id, "startFrame": 0, "levels": 20}
			daptest.Ask[any](c, "stackTrace", which)
		})
	})
}

// stepped is a program in which one thread can be stepped without end while the other three of its team wait.
const stepped = `
volatile long sum;
void work(void) {
  for (;;) {
    sum += 1;
    sum += 2;
  }
}
int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    work();
  }
}
`

// BenchmarkProxyStep measures a step in gdb with and without the proxy, for an editor that requests the threads
// and the stack at each stop.
func BenchmarkProxyStep(b *testing.B) {
	omptest.Needs(b, "a compiler")
	dir := b.TempDir()
	source, exe := filepath.Join(dir, "stepped.c"), filepath.Join(dir, "stepped")
	if err := os.WriteFile(source, []byte(stepped), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-fopenmp", source, "-o", exe).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	p := startPair(b)
	thread := map[*daptest.Client]int{}
	stopped := func(c *daptest.Client) {
		at := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped")).ThreadId
		thread[c] = at
		daptest.Ask[any](c, "threads", nil)
		daptest.Ask[any](c, "stackTrace", object{"threadId": at, "startFrame": 0, "levels": 20})
	}
	for _, c := range []*daptest.Client{p.through, p.direct} {
		daptest.Ask[any](c, "initialize", object{"adapterID": "x", "supportsInvalidatedEvent": true})
		launch := c.Send("launch", object{"program": exe, "env": object{"OMP_WAIT_POLICY": "passive"}})
		c.Event("initialized")
		daptest.Ask[any](c, "setFunctionBreakpoints", object{"breakpoints": []object{{"name": "work"}}})
		daptest.Ask[any](c, "configurationDone", nil)
		c.Response(launch)
		stopped(c)
		daptest.Ask[any](c, "setFunctionBreakpoints", object{"breakpoints": []object{}})
	}
	p.compare(b, func(c *daptest.Client, _ int) {
		daptest.Ask[any](c, "next", object{"threadId": thread[c]})
		stopped(c)
	})
	for _, c := range []*daptest.Client{p.through, p.direct} {
		daptest.Ask[any](c, "disconnect", object{"terminateDebuggee": true})
	}
}
