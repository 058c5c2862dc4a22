// Package spin reports whether a running thread is only spinning: in a loop that ends only when another thread
// writes memory.
//
// Find emulates the thread (package emulate): it executes its code on a copy of its registers and buffers its
// writes. The thread spins if, on every possible path, it returns to an earlier state, and if each round changes
// no memory visible to other threads, or always the same few words. So as long as the rest of memory stays the
// same, it never leaves the loop. It waits for the words that decided its branches. A word that it writes itself
// is unknown from then on, so a loop that ends by such a word does not count. The caller has to find out whether
// other threads wait for it.
//
// If a value is unknown (the result of a call, a counter that differs in each round), both sides of a branch are
// followed, and each must return to an earlier state. So a loop that is limited in rounds or in time does not
// count.
//
// Memory is read only if the code can return to an earlier state at all: it is first executed with all values
// from memory unknown, and must then use the same addresses each time. Most working threads are recognized in
// this way by their code alone.
package spin
