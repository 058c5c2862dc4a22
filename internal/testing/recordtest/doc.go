// Package recordtest holds the recorder (recorder/, in C) against real programs: its
// tests decode the raw bytes that it leaves in their memory, as docs/recorder.md describes
// them, with nothing in between. Tests only.
package recordtest
