//go:build lean

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// self is by which name main.entry knows that the whole program is wanted.
const self = "/proc/self/exe"

// whole goes on as the whole program: that is in the same file (internal/twoinone).
var whole = func() error {
	if outputAtEntry < 0 { // Go opened another
		if err := unix.Close(unix.Stdout); err != nil {
			return err
		}
	}
	return fmt.Errorf("starting %s: %w", self, unix.Exec(self, os.Args, os.Environ()))
}
