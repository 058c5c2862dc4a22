// Package generated makes random OpenMP programs, healthy ones and such with one mistake put in
// on purpose, runs them, looks at them in random moments, and holds what the tool says against
// what the threads of the program have noted of themselves. Only tests use it.
//
// What is noted is the truth of a moment if the thread's slot has not changed between a
// read before the look and one after it; the notes in a core are those of its moment.
package generated
