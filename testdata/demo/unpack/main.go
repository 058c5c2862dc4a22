// Unpack unpacks a golden core into a directory, and prints the flags and the core for ompd-inspect.
//
//	go run ./testdata/demo/unpack NAME DIR
package main

import (
	"fmt"
	"os"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func main() {
	g, err := omptest.UnpackGolden("testdata/golden", os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("--exe", g.Exe, "--sysroot", g.Sysroot, g.Core)
}
