// Package handles defines the values that identify threads, parallel regions and tasks of a target
// (ompd_thread_handle_t, ompd_parallel_handle_t, ompd_task_handle_t).
//
// Handles are plain comparable values: they need no allocation and no release, and two handles identify the same
// object exactly if they are equal. A handle is valid for one address space at one stop, which are in its Stamp.
package handles

import (
	"cmp"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Stamp is the address space and the stop for which a handle is valid.
type Stamp struct {
	Space uint16 // number of the address space of an opened target
	Epoch uint32 // counts the stops of that target
}

// Thread identifies an OpenMP thread by the runtime's thread structure.
type Thread struct {
	Stamp
	Info callbacks.Address
}

// Parallel identifies a parallel region by the runtime's team structure and the nesting level, which
// distinguishes serialized regions that share one team.
type Parallel struct {
	Stamp
	Team  callbacks.Address
	Level uint32
}

// Task identifies a task region by the runtime's task structure and, for an implicit task of a serialized region
// that shares it with others, the nesting level.
type Task struct {
	Stamp
	Data  callbacks.Address
	Level uint32
}

// IsZero reports whether h is the zero handle, which identifies no object.
func (h Thread) IsZero() bool { return h == Thread{} }

// IsZero reports whether h is the zero handle, which identifies no object.
func (h Parallel) IsZero() bool { return h == Parallel{} }

// IsZero reports whether h is the zero handle, which identifies no object.
func (h Task) IsZero() bool { return h == Task{} }

// String returns "thread@0x…".
func (h Thread) String() string { return fmt.Sprintf("thread@%v", h.Info) }

// String returns "parallel@0x…/level".
func (h Parallel) String() string { return fmt.Sprintf("parallel@%v/%d", h.Team, h.Level) }

// String returns "task@0x…/level".
func (h Task) String() string { return fmt.Sprintf("task@%v/%d", h.Data, h.Level) }

// Compare orders thread handles; 0 means the same thread (ompd_thread_handle_compare).
func (h Thread) Compare(o Thread) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Info.Offset, o.Info.Offset))
}

// Compare orders parallel handles; 0 means the same region (ompd_parallel_handle_compare).
func (h Parallel) Compare(o Parallel) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Team.Offset, o.Team.Offset),
		cmp.Compare(h.Level, o.Level))
}

// Compare orders task handles; 0 means the same task (ompd_task_handle_compare).
func (h Task) Compare(o Task) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Data.Offset, o.Data.Offset),
		cmp.Compare(h.Level, o.Level))
}

func compareStamp(a, b Stamp) int {
	return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Epoch, b.Epoch))
}
