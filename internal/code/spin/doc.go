// Package spin reports whether a running thread is only spinning: in a loop that ends only when another thread writes
// memory.
//
// Find emulates the thread (package emulate): its code, on a copy of its registers, with its writes kept aside.
// The thread spins if it comes back to an earlier state, on every way that it may take, and has changed nothing that
// another thread can see, or the same few words in each round: with the rest of the memory as it is, it never leaves
// the loop. It waits for the words that decided its branches. A word that it writes itself is unknown from then on, so
// a loop that such a word ends does not count. Whether other threads wait for it is for the caller to find out.
//
// Where a value is unknown (the result of a call, a counter that is different in each round), both sides of a branch
// are followed, and each must come back. So a loop with a limit on its rounds, or on time, does not count.
//
// The memory is read only if the code can come back at all, with all values from memory unknown, and reads the same
// addresses then: most threads that work are recognized by their code alone.
//
// x86-64 only.
package spin
