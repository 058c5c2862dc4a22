package inspect_test

import (
	"fmt"
	"log"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// An Inspector on a program's own target. Package session does this, and more, for all kinds of targets that it
// can open.
func Example() {
	golden, done, err := omptest.ExampleCore("gnu-nested")
	if err != nil {
		log.Fatal(err)
	}
	defer done()
	core, err := corefile.Open(golden.Core, corefile.Options{Exe: golden.Exe, Sysroot: golden.Sysroot})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	modules, _ := core.Modules()
	processes, err := extended.Open(core, readers.Options{})
	if err != nil {
		log.Fatal(err)
	}
	config := inspect.Config{Target: core, Unwinder: unwind.New(core, core.Arch(), modules)}
	for _, p := range processes {
		config.Runtimes = append(config.Runtimes, rtl.Runtime(p))
	}
	in, err := inspect.New(config)
	if err != nil {
		log.Fatal(err)
	}
	for _, region := range in.Regions() {
		fmt.Printf("level %d: a team of %d\n", region.Level, region.TeamSize)
	}
	// Output:
	// level 0: a team of 1
	// level 1: a team of 2
	// level 2: a team of 3
	// level 2: a team of 3
}
