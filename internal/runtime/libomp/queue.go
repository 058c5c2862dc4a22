package libomp

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// waitQueue is the queue of a queuing lock: from head_id through th_next_waiting to tail_id. The numbers are
// gtid+1.
type waitQueue struct {
	threads []handles.Thread // first to last; shared by all waiting threads
	place   map[int64]int    // id → position in the queue, from 1
}

// queueOf returns the queue of the queuing lock at a. It is read once for all waiting threads, and ends at an
// entry that cannot be followed.
func (lk *locks) queueOf(a callbacks.Address, head, tail int64) *waitQueue {
	if q, ok := lk.queues.Get(a.Offset); ok {
		return q
	}
	q := &waitQueue{place: map[int64]int{}}
	next := lk.l.Thread.NextWaiting
	for id := head; id >= 1 && id <= int64(len(lk.threads.slots)) && q.place[id] == 0; {
		q.threads = append(q.threads, handles.Thread{Stamp: lk.stamp, Info: lk.threads.slots[id-1]})
		q.place[id] = len(q.threads)
		if id == tail {
			break
		}
		r := layout.Read(lk.mem, lk.threads.slots[id-1], next)
		if id = r.Int(next); r.Err() != nil {
			break
		}
	}
	q.threads = slices.Clip(q.threads)
	lk.queues.Put(a.Offset, q)
	return q
}

// prefetchQueue reads the data of a queue for a running thread with unknown registers: threads that wait for a
// lock spin. Only its stack shows its queue, once the process is stopped. Without this read, the copy would lack
// the data, and the process would have to be stopped again.
func (lk *locks) prefetchQueue(th *thread) {
	_ = layout.Read(lk.mem, th.addr, lk.l.Thread.NextWaiting)
}
