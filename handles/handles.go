// Package handles has the values that name threads, parallel regions and tasks
// of a target (ompd_thread_handle_t, ompd_parallel_handle_t, ompd_task_handle_t).
//
// Handles are plain comparable values: there is nothing to allocate and nothing
// to release, and two handles name the same thing exactly if they are equal. A
// handle is true for one address space at one stop, which its Stamp says.
package handles

import (
	"cmp"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Stamp says where and at which stop a handle is true.
type Stamp struct {
	Space uint16 // which address space of which opened target
	Epoch uint32 // counts the stops of that target
}

// Thread names an OpenMP thread by the runtime's thread structure.
type Thread struct {
	Stamp
	Info callbacks.Address
}

// Parallel names a parallel region: the runtime's team structure and the nesting
// level, which tells apart serialized regions that share one team.
type Parallel struct {
	Stamp
	Team  callbacks.Address
	Level uint32
}

// Task names a task region: the runtime's task structure and, for an implicit
// task of a serialized region that shares it with others, the nesting level.
type Task struct {
	Stamp
	Data  callbacks.Address
	Level uint32
}

// IsZero tells the handle that names nothing.
func (h Thread) IsZero() bool { return h == Thread{} }

// IsZero tells the handle that names nothing.
func (h Parallel) IsZero() bool { return h == Parallel{} }

// IsZero tells the handle that names nothing.
func (h Task) IsZero() bool { return h == Task{} }

// String is the printable form "thread@0x…".
func (h Thread) String() string { return fmt.Sprintf("thread@%v", h.Info) }

// String is the printable form "parallel@0x…/level".
func (h Parallel) String() string { return fmt.Sprintf("parallel@%v/%d", h.Team, h.Level) }

// String is the printable form "task@0x…/level".
func (h Task) String() string { return fmt.Sprintf("task@%v/%d", h.Data, h.Level) }

// Compare orders thread handles; 0 means the same thread
// (ompd_thread_handle_compare).
func (h Thread) Compare(o Thread) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Info.Offset, o.Info.Offset))
}

// Compare orders parallel handles; 0 means the same region
// (ompd_parallel_handle_compare).
func (h Parallel) Compare(o Parallel) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Team.Offset, o.Team.Offset),
		cmp.Compare(h.Level, o.Level))
}

// Compare orders task handles; 0 means the same task
// (ompd_task_handle_compare).
func (h Task) Compare(o Task) int {
	return cmp.Or(compareStamp(h.Stamp, o.Stamp), cmp.Compare(h.Data.Offset, o.Data.Offset),
		cmp.Compare(h.Level, o.Level))
}

func compareStamp(a, b Stamp) int {
	return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Epoch, b.Epoch))
}
