// Package inspect joins the data of an OpenMP runtime, the native stacks and the source lines of a target into one
// picture.Picture with the facts that verdicts are drawn from.
//
// An Inspector is the entry point. It stands on layers, each a package that imports only those below it:
//
//	inspect        the picture, its threads and facts; waits, locks and their holders; recordings; progress; Doctor
//	├── crash      fault, abort, exception, broken heap
//	├── teams      threads, regions, forks, tasks, loops, control variables, the user's model of stacks
//	└── stacks     native stacks; names of code and data; control flow of the functions on the stacks
//
// Within this package, each type uses those below it:
//
//	Inspector      the picture, and Doctor's checks
//	factParts      the facts; gatherer collects those of one picture
//	threadLister   the threads of a picture
//	reach          the calls that code may still make
//	waitFinder     the waits of threads, and the locks that they wait for
//	lockHolders    the holders of locks that name no owner
//	nativeWaits    waits that no runtime records: the C library, MPI, spinning
//	freedMemory    memory that was freed or returned
//	environment, processors: the machine that the program runs on
package inspect
