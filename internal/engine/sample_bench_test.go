package engine

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// BenchmarkSample takes samples of a team at a barrier. It reports the CPU time of a sample, and the length of a stop.
func BenchmarkSample(b *testing.B) {
	for _, threads := range []int{4, 64} {
		for _, rt := range []omptest.Runtime{omptest.RuntimeOf(b, 16), omptest.LibgompAlias(b)} {
			b.Run(fmt.Sprintf("%d threads, %v", threads, rt), func(b *testing.B) {
				benchmarkSample(b, threads, rt)
			})
		}
	}
}

func benchmarkSample(b *testing.B, threads int, rt omptest.Runtime) {
	r := omptest.Start(b, omptest.Run{
		Exe: omptest.Compile(b, omptest.Build{Program: "many"}), Runtime: rt, Mode: omptest.Live,
		Args: []string{fmt.Sprint(threads)},
	})
	target, err := Open(b.Context(), fmt.Sprint(r.PID), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer target.Close()
	p := &profiling{target: target, meter: target.source.(Meter), names: &inspect.HeapNames{}}
	target.KeepFiles()
	if err := p.look(b.Context()); err != nil {
		b.Fatal(err)
	}
	before, stopped := ownTime(), p.Profile(picture.ProfileTimeOver, nil).Stopped
	for b.Loop() {
		if err := p.look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((ownTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(1e6*(p.Profile(picture.ProfileTimeOver, nil).Stopped-stopped)/float64(b.N), "stop-us/op")
}
