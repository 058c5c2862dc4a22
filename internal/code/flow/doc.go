// Package flow implements data-flow analysis of machine code, one function at a time.
//
// A Function consists of basic blocks, linked by its branches to a control-flow graph. Its call sites are the
// calls, and the jumps to other functions (tail calls). The package answers three questions about the graph:
//
//   - Which value does an argument of a call have? Values are propagated through the blocks
//     until there are no changes. If paths with different values join, the join itself names
//     the value. Value finds the number that an expression has in a frame of a stack, by the
//     registers and stack cells that are still intact in the frame.
//
//   - Does a fact hold at a point? Holds takes a transfer function, which gives the effect of
//     each call site on the fact, and joins over all paths from the entry in the lattice
//
//     Maybe
//     /     \
//     No       Yes
//     \     /
//     Unreached
//
//     AtReturn answers this for the function's returns, so that a call of it has an Effect too.
//
//   - Which call sites may still be executed? SitesAfter walks the graph from a point.
//
// Summaries carries answers from functions to their callers, over the strongly connected components of the call
// graph.
//
// As an example, consider
//
//	void update(table *t) {           // block 0
//		omp_set_lock(&t->lock);       //   site 0: Sets
//		if (t->full)
//			grow(t);                  // block 1, site 1: NoEffect
//		t->n++;                       // block 2
//		omp_unset_lock(&t->lock);     //   site 2: Clears
//	}
//
// for the fact "this frame holds the lock". It is No at the entry, and Yes after site 0 and site 1. So it is Yes
// at the end of both blocks that join at block 2, and No at the return: a call of update has NoEffect. For a
// frame with an unfinished call of grow, Holds returns Yes, by site 0. Value returns the address of its lock,
// since update keeps t in a register across calls.
package flow
