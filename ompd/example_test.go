package ompd_test

import (
	"fmt"
	"log"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// The example counts the threads of a core that belong to its OpenMP runtime: those have a handle.
func Example() {
	g, done, err := omptest.ExampleCore("gnu-barrier")
	if err != nil {
		log.Fatal(err)
	}
	defer done()
	core, err := corefile.Open(g.Core, corefile.Options{Exe: g.Exe, Sysroot: g.Sysroot})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	runtimes, err := ompd.Open(core, ompd.Options{})
	if err != nil {
		log.Fatal(err)
	}
	lwps, err := core.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range runtimes {
		team := 0
		for _, lwp := range lwps {
			if _, err := p.ThreadHandle(lwp); err == nil {
				team++
			}
		}
		fmt.Printf("%s: %d of %d threads\n", p.Identity().Name, team, len(lwps))
	}
	// Output: GNU OpenMP runtime: 4 of 4 threads
}
