//go:build !lean

package main

// whole is nil: this is the whole program.
var whole func() error
