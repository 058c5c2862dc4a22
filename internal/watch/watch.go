// Package watch determines the changes between looks at a process: whether its threads make progress. It
// compares the picture and the trace of each look, and reads no memory itself.
package watch
