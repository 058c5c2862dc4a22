package corefile_test

import (
	"fmt"
	"log"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Opens a core as a target and prints its threads, modules and memory. This package does not depend
// on OpenMP.
func Example() {
	golden, done, err := omptest.ExampleCore("llvm-crash")
	if err != nil {
		log.Fatal(err)
	}
	defer done()
	core, err := corefile.Open(golden.Core, corefile.Options{Exe: golden.Exe, Sysroot: golden.Sysroot})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	threads, err := core.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		log.Fatal(err)
	}
	registers, err := core.Registers(threads[0])
	if err != nil {
		log.Fatal(err)
	}
	var word [8]byte
	if err := core.ReadMemory(callbacks.Addr(registers.SP()), word[:]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(core.Arch(), len(threads), "threads")
	modules, _ := core.Modules()
	fmt.Println("executable:", modules[0].Main)
	// Output:
	// x86-64 2 threads
	// executable: true
}
