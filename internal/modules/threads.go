package modules

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxThreads bounds the C library's lists of threads: Linux has no more
// (PID_MAX_LIMIT).
const maxThreads = 4 << 20

// Thread is a thread as the C library knows it.
type Thread struct {
	Pthread uint64 // pthread_t
	LWP     uint64 // kernel thread id
}

// threadLists are the places of glibc's lists of threads (since 2.34): list heads
// in the loader's _rtld_global, which chain list nodes in struct pthread.
type threadLists struct {
	heads     [2]uint64 // addresses of the list of stacks that threads were given, and of that of glibc's own
	next      uint64    // list_t.next; list_t.prev is right behind
	node, tid uint64    // pthread.list, pthread.tid
}

// Threads lists the threads of the target as libthread_db does: by glibc's own
// lists, whose layout glibc tells by constants. A thread that is being started or
// has ended has no LWP yet or any more and is left out. Another C library is
// callbacks.ErrUnsupportedKind.
func (t *Table) Threads() ([]Thread, error) {
	l, err := t.threadLists()
	if err != nil {
		return nil, fmt.Errorf("%w: the program's C library does not say where its threads are: %w", callbacks.ErrUnsupportedKind, err)
	}
	var all []Thread
	for _, head := range l.heads {
		if all, err = t.walkThreads(all, l, head); err != nil {
			return nil, fmt.Errorf("list of threads at %#x: %w", head, err)
		}
	}
	return all, nil
}

// walkThreads appends the threads of one list. Each node must point back to the
// one before: where it does not, the list is damaged.
func (t *Table) walkThreads(all []Thread, l threadLists, head uint64) ([]Thread, error) {
	before := head
	node, err := t.word(head+l.next, 8)
	for n := 0; err == nil && node != head && node != 0; n++ {
		var links [16]byte // next and prev
		if err := t.facts.Memory.ReadMemory(callbacks.At(node+l.next), links[:]); err != nil {
			return nil, err
		}
		if prev := callbacks.Word(links[8:]); prev != before {
			return nil, fmt.Errorf("node %d at %#x comes after %#x, and says after %#x", n, node, before, prev)
		}
		if n == maxThreads {
			return nil, fmt.Errorf("more than %d threads", maxThreads)
		}
		tid, err := t.word(node-l.node+l.tid, 4)
		if err != nil {
			return nil, err
		}
		if int32(tid) > 0 {
			all = append(all, Thread{node - l.node, tid})
		}
		before, node = node, callbacks.Word(links[:8])
	}
	return all, err
}

// LWP is the kernel thread of a pthread_t, 0 if it has ended.
func (t *Table) LWP(pthread uint64) (uint64, error) {
	l, err := t.threadLists()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", callbacks.ErrUnsupportedKind, err)
	}
	tid, err := t.word(pthread+l.tid, 4)
	return uint64(max(int32(tid), 0)), err
}

// threadLists finds the lists.
func (t *Table) threadLists() (l threadLists, err error) {
	global, err := t.Symbol("_rtld_global", "")
	if err != nil {
		return l, err
	}
	var user, used uint64
	for _, f := range []struct {
		name string
		to   *uint64
	}{
		{"_thread_db_rtld_global__dl_stack_user", &user}, {"_thread_db_rtld_global__dl_stack_used", &used},
		{"_thread_db_list_t_next", &l.next}, {"_thread_db_pthread_list", &l.node}, {"_thread_db_pthread_tid", &l.tid},
	} {
		b, err := t.constant(f.name, descriptorSize)
		if err != nil {
			return l, err
		}
		*f.to = callbacks.Word(b[8:12])
	}
	l.heads = [2]uint64{global.Offset + used, global.Offset + user}
	return l, nil
}
