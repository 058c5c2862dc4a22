package unwind_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// openBenchmark opens a core of a program and returns the registers of its threads.
func openBenchmark(b *testing.B, program string) (*opened, []callbacks.Registers) {
	b.Helper()
	exe := omptest.Compile(b, omptest.Build{Program: program, Flags: []string{"-O2"}})
	o := open(b, omptest.Dump(b, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(b, 16), Mode: omptest.Kernel}).Core)
	var regs []callbacks.Registers
	for _, lwp := range o.lwps {
		regs = append(regs, o.readRegisters(b, lwp))
	}
	b.ReportAllocs()
	b.ResetTimer()
	return o, regs
}

func walkStacks(b *testing.B, u *unwind.Unwinder, regs []callbacks.Registers) (frames int) {
	for _, r := range regs {
		fs, err := u.Stack(r, 0)
		if err != nil {
			b.Fatal(err)
		}
		frames += len(fs)
	}
	return frames
}

// BenchmarkWarm walks stacks with program counters in the cache.
func BenchmarkWarm(b *testing.B) {
	for _, program := range []string{"barrier", "many"} {
		b.Run(program, func(b *testing.B) {
			o, regs := openBenchmark(b, program)
			n := 0
			for b.Loop() {
				n += walkStacks(b, o.u, regs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/frame")
		})
	}
}

// BenchmarkCold walks the stacks of a core with a new unwinder each time, which opens the modules and reads
// their tables.
func BenchmarkCold(b *testing.B) {
	for _, program := range []string{"barrier", "many"} {
		b.Run(program, func(b *testing.B) {
			o, regs := openBenchmark(b, program)
			for b.Loop() {
				walkStacks(b, unwind.New(o, o.Arch(), o.mods), regs)
			}
		})
	}
}
