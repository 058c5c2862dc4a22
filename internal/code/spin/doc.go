// Package spin tells of a thread that runs whether all that it does is to wait for memory
// to change.
//
// A Machine does what the thread would do next: its code, on a copy of its registers, with
// what it writes on its own stack kept aside. The thread spins if it comes back to a state
// that it was in, whichever way it goes, and has changed nothing that another thread can see, or
// the same few words in each round: with the rest of the memory as it is, it goes on so for ever.
// What its branches were decided by are the words that it waits for. What it writes itself is not
// known from then on, so that a loop which such a word ends is none; whether others wait for it is
// for the caller to say.
//
// Values that are not known (what a system call gives, a counter that is different in each
// round) go both ways at a branch, and each way must come back. So a loop with a limit on its
// rounds, or on time, is none.
//
// The memory is read only if the code, with all values from memory unknown, can come back at
// all and reads the same addresses then: most threads that work are told from their code.
//
// x86-64 only.
package spin
