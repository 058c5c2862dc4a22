// Package recordings reads what a recorder kept of the threads of a target: their states, held locks and last events,
// and what the newest events show. It is the layer of package inspect above package teams.
//
//	Reader      the recording in a target
//	Locks       the locks that threads hold, by their events
//	Criticals   names of critical sections, by the wait IDs of events
package recordings
