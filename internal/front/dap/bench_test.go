package dap_test

import (
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// BenchmarkManyThreads measures how long an editor waits for a core of 256 threads: for the list of threads,
// and for each stack.
func BenchmarkManyThreads(b *testing.B) {
	for name, run := range map[string]omptest.Run{
		"libomp": {Exe: omptest.Compile(b, omptest.Build{Program: "mixed"}), Runtime: omptest.RuntimeOf(b, 19)},
		"libgomp": {
			Exe:     omptest.Compile(b, omptest.Build{Program: "mixed", Compiler: omptest.GCC}),
			Runtime: omptest.Libgomp(b),
		},
	} {
		run.Mode, run.Args = omptest.Gcore, []string{"256"}
		core := omptest.Dump(b, run).Core
		b.Run(name+"/attach", func(b *testing.B) {
			for range b.N {
				attach(b, args{"target": core})
			}
		})
		c, _ := attach(b, args{"target": core})
		all := threads(c)
		b.Run(name+"/threads", func(b *testing.B) {
			for range b.N {
				daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil)
			}
		})
		b.Run(name+"/stackTrace", func(b *testing.B) {
			for i := range b.N {
				frames(c, args{"threadId": all[i%len(all)].Id})
			}
		})
		b.Run(name+"/locals", func(b *testing.B) {
			for i := range b.N {
				list := stack(c, all[i%len(all)].Id)
				c.Response(c.Send("evaluate", args{"expression": "argc", "frameId": list[len(list)-1].Id}))
			}
		})
	}
}
