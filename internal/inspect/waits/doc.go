// Package waits finds the waits of threads, the locks that they wait for, and the holders of these locks. It is the
// layer of package inspect above packages teams and recordings.
//
// A Finder is the entry point. It is given the threads, their stacks and states, the analysis of locks in their code,
// and the recorded locks. It returns facts (AddFacts), the waits of threads (AddWait, MPICall), and the places of
// threads, to find progress (Trace). Each type uses those below it:
//
//	Finder         the waits of threads, and the locks that they wait for
//	gatherer       the facts of one picture: waits, locks, barriers, releases, wakers
//	tracer         the place of a thread, and the registers and words that change when it makes progress
//	constructs     barriers in constructs that may contain no barrier
//	lockHolders    the holders of locks that name no owner
//	reach          the calls that code may still make
//	nativeWaits    waits that no runtime records: the C library, MPI, spinning
//	freedMemory    memory that was freed or returned
package waits
