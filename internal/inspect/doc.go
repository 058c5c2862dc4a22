// Package inspect joins the data of an OpenMP runtime, the native stacks and the source lines of a target into one
// picture.Picture with the facts that verdicts are drawn from.
//
// An Inspector is the entry point. It stands on layers, each a package that imports only those below it:
//
//	inspect         the picture, its threads and facts; Doctor
//	├── crash       fault, abort, exception, broken heap
//	├── waits       waits, locks and their holders; progress
//	├── recordings  the states, locks and events that a recorder kept
//	├── teams       threads, regions, forks, tasks, loops, control variables, the user's model of stacks
//	└── stacks      native stacks; names of code and data; control flow of the functions on the stacks
//
// Within this package, each type uses those below it:
//
//	Inspector      the picture, and Doctor's checks
//	factParts      the facts
//	threadLister   the threads of a picture
//	mpiCalls       the arguments of the calls of MPI that threads wait in
//	environment, processors: the machine that the program runs on
package inspect
