// Package recordtest tests the recorder (recorder/, in C) with real programs: its tests decode the raw bytes in
// their memory directly, as docs/internals/recorder.md describes them. Tests only.
package recordtest
