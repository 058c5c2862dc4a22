// Package analyze makes spans of the events of a recording, statistics of them, and finds
// orders of acquisition of locks that can end in a deadlock. It reads no memory.
package analyze
