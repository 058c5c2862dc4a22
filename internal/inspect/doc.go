// Package inspect joins what an OpenMP runtime keeps, the native stacks and the
// source lines of a target into one picture.Picture.
//
// An Inspector is the way in; what it knows is in types that each know one thing, are
// given those below them, and remember what they found:
//
//	Inspector: the picture, and what doctor says
//	    ├────────────────────────────────────────────────┐
//	factParts    what verdicts are drawn from        threadLister, regionLister, taskLister
//	reach        what code may come to               loops   worksharing loops
//	forkFinder   what decided on the sizes of regions    │
//	exceptions   what was thrown, and what it left       │
//	crash        how the program was ended               │
//	environment, processors: where the program runs      │
//	    ├────────────────────────────────────────────────┘
//	waitFinder   what threads wait for, and who has it
//	lockHolders  who has a lock that names no owner
//	nativeWaits  what threads wait for that no runtime knows of
//	states       evidence, and what a thread does      userModel  stacks as people think of them
//	reclaimed    memory that is not the program's any more        │     settings
//	dataNames    variables, locals, what points to the heap       │       │
//	flows        what the code shows of each frame                │       │
//	    └────────────┬────────────────────────────────────────────┘       │
//	              stacks       native stacks, and whose code each frame is
//	              codeNames    functions, lines, calls     regionTable  regions and their members
//	              roster       the threads, and which of them a runtime calls its own
//	              notes        what could not be read, and why
package inspect
