// Package teams lists OpenMP's threads, regions, forks, tasks, loops and control variables, and shows stacks in the
// user's model of the program. It is the layer of package inspect above package stacks: it joins native threads with
// the threads of runtimes.
//
//	ThreadTable   the threads of the target, each with its runtime's view of it
//	RegionTable   parallel regions and their members; RegionLister shows them
//	UserModel     stacks without runtime frames, continued into the thread that forked the region
//	States        the state of a thread: its runtime's answer to evidence from the stack
//	Forks         the clauses, settings and limits that decided on a region's team size
//	TaskLister    tasks
//	Loops         worksharing loops
//	Settings      control variables
package teams
