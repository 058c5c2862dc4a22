// Package flow is data-flow analysis of machine code, one function at a time.
//
// A Function is taken apart into basic blocks, which its branches link to a control-flow graph.
// Its call sites are the calls, and the jumps to other functions (tail calls). Over the graph,
// three questions are answered:
//
//   - Which value has an argument of a call? Values are propagated through the blocks until
//     nothing changes; where paths join with different ones, the join itself names the value.
//     Value finds the number that an expression has for a frame of a stack, in the registers
//     and stack cells that the frame still has.
//
//   - Does a fact hold at a point? Holds takes a transfer function, which says what each call
//     site does to the fact, and joins over all paths from the entry in the lattice
//
//     Maybe
//     /     \
//     No       Yes
//     \     /
//     Unreached
//
//     AtReturn asks the same for the function's returns, so that a call of it has an Effect too.
//
//   - Which call sites may still come? SitesAfter walks the graph from a point on.
//
// Summaries carries answers from functions to their callers, over the strongly connected
// components of the call graph.
//
// As an example, take
//
//	void update(table *t) {           // block 0
//		omp_set_lock(&t->lock);       //   site 0: Sets
//		if (t->full)
//			grow(t);                  // block 1, site 1: NoEffect
//		t->n++;                       // block 2
//		omp_unset_lock(&t->lock);     //   site 2: Clears
//	}
//
// for the fact "this frame has the lock". It is No at the entry, Yes behind site 0 and site 1,
// so Yes at both ends that join at block 2, and No at the return: a call of update has
// NoEffect. For a frame whose call of grow has not returned, Holds gives Yes, by site 0; and
// Value gives the address of its lock, since update keeps t in a register across calls.
package flow
