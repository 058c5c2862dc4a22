package libgomp

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// BenchmarkOpen finds the runtime in a core, derives its layout, and reads 256 threads and their regions.
func BenchmarkOpen(b *testing.B) {
	for name, flags := range map[string][]string{"dynamic": {"-O1", "-g"}, "static": {"-O1", "-g", "-static"}} {
		b.Run(name, func(b *testing.B) {
			run := omptest.Run{Exe: omptest.Compile(b, omptest.Build{Program: "many", Compiler: omptest.GCC,
				Flags: flags}), Mode: omptest.Kernel}
			if name == "dynamic" {
				run.Runtime = omptest.Libgomp(b)
			}
			c, err := corefile.Open(omptest.Dump(b, run).Core, corefile.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for b.Loop() {
				rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{})
				if err != nil || len(rts) != 1 {
					b.Fatalf("%d runtimes, %v", len(rts), err)
				}
				for h, err := range rts[0].Threads() {
					if _, e := rts[0].Thread(h); err != nil || e != nil {
						b.Fatal(err, e)
					}
				}
			}
		})
	}
}
