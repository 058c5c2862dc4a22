package omptest

import "os"

// Full tells whether tests run on every combination of compiler, optimization and
// release that they know ($OMPD_FULL is set, as by make matrix), or on those that
// differ most.
func Full() bool { return os.Getenv("OMPD_FULL") != "" }
