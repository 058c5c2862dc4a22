// Package generated makes random OpenMP programs, healthy ones and ones with one deliberate mistake. It runs
// them, looks at them at random moments, and compares the tool's output with the notes that the threads of the
// program make about themselves. Only tests use it.
//
// A note is the truth of a moment if the thread's slot is the same before the look and after it; the notes in a
// core are those of its moment.
package generated
