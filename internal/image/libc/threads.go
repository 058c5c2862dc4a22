package libc

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxThreads bounds the C library's lists of threads by the maximum of Linux (PID_MAX_LIMIT).
const maxThreads = 4 << 20

// maxBlock bounds the size of struct pthread in bytes; the usual size is about 2 KiB.
const maxBlock = 16 << 10

// Source returns the C library's description of itself: its symbols, and its constants for libthread_db.
type Source interface {
	// Symbol is that of callbacks.Symbols.
	Symbol(name, file string) (callbacks.Address, error)
	// Constant returns the first n bytes of a constant, from the file that defines it.
	Constant(name string, n int) ([]byte, error)
}

// ThreadLists are glibc's lists of threads (since 2.34): list heads in the loader's _rtld_global,
// which chain list nodes in struct pthread. glibc's own descriptors give the layout.
type ThreadLists struct {
	heads     [2]uint64 // addresses of the lists of the stacks given by the program and of glibc's own stacks
	next      uint64    // list_t.next; list_t.prev follows it
	node, tid uint64    // pthread.list, pthread.tid
}

// FindThreadLists finds the lists. For another C library, or an older one, the error is
// callbacks.ErrUnsupportedKind.
func FindThreadLists(s Source) (ThreadLists, error) {
	var l ThreadLists
	global, err := s.Symbol("_rtld_global", "")
	if err != nil {
		return l, noLists(err)
	}
	var user, used uint64
	for _, f := range []struct {
		name string
		to   *uint64
	}{
		{"_thread_db_rtld_global__dl_stack_user", &user},
		{"_thread_db_rtld_global__dl_stack_used", &used},
		{"_thread_db_list_t_next", &l.next},
		{"_thread_db_pthread_list", &l.node},
		{"_thread_db_pthread_tid", &l.tid},
	} {
		d, err := describe(s, f.name)
		if err != nil {
			return l, noLists(err)
		}
		*f.to = d.offset
	}
	if l.node >= maxBlock || l.tid >= maxBlock {
		return l, noLists(fmt.Errorf("list and tid of struct pthread would lie at %d and %d", l.node, l.tid))
	}
	l.heads = [2]uint64{global.Offset + used, global.Offset + user}
	return l, nil
}

func noLists(err error) error {
	const what = "the program's C library does not say where its threads are"
	return fmt.Errorf("%w: %s: %w", callbacks.ErrUnsupportedKind, what, err)
}

// Threads lists the threads as libthread_db does. Threads that are starting or have ended have no LWP and are
// left out.
func (l ThreadLists) Threads(mem callbacks.Memory) ([]Thread, error) {
	var all []Thread
	for _, head := range l.heads {
		var err error
		if all, err = l.walk(mem, all, head); err != nil {
			return nil, fmt.Errorf("list of threads at %#x: %w", head, err)
		}
	}
	return all, nil
}

// walk appends the threads of one list. Each node must point back to the one before; otherwise the list is
// damaged.
func (l ThreadLists) walk(mem callbacks.Memory, all []Thread, head uint64) ([]Thread, error) {
	r := reader{mem: mem}
	before, node := head, r.word(head+l.next)
	for n := 0; r.err == nil && node != head && node != 0; n++ {
		if n == maxThreads {
			return nil, fmt.Errorf("more than %d threads", maxThreads)
		}
		var links [16]byte // next and previous
		r.read(node+l.next, links[:])
		tid := r.number(node-l.node+l.tid, 4)
		if previous := callbacks.Word(links[8:]); r.err == nil && previous != before {
			return nil, fmt.Errorf("node %d at %#x comes after %#x, and says after %#x", n, node, before, previous)
		}
		if r.err == nil && int32(tid) > 0 {
			all = append(all, Thread{Pthread: node - l.node, LWP: tid})
		}
		before, node = node, callbacks.Word(links[:8])
	}
	return all, r.err
}

// ThreadID returns the kernel thread of a pthread_t; 0 if it has ended.
func (l ThreadLists) ThreadID(mem callbacks.Memory, pthread uint64) (uint64, error) {
	r := reader{mem: mem}
	tid := r.number(pthread+l.tid, 4)
	if r.err != nil {
		return 0, fmt.Errorf("tid of the thread control block at %#x: %w", pthread, r.err)
	}
	return uint64(max(int32(tid), 0)), nil
}

// ThreadIDOffsets returns the possible offsets of a thread's id in its control block: that of the C library's
// description, else those of the known C libraries.
func ThreadIDOffsets(s Source, a callbacks.Arch) []uint64 {
	if d, err := describe(s, "_thread_db_pthread_tid"); err == nil && d.offset < maxBlock {
		return []uint64{d.offset}
	}
	var out []uint64
	for _, at := range []uint64{blockLayouts[a].tid, muslThreadID[a]} {
		if at != 0 {
			out = append(out, at)
		}
	}
	return out
}

// Running lists threads of a running program, in which they start and end. The lists may end early or lead
// astray, so each is left after limit steps, and the threads found until then count.
func (l ThreadLists) Running(mem callbacks.Memory, limit int) []Thread {
	var all []Thread
	for _, head := range l.heads {
		all = l.follow(mem, all, head, limit)
	}
	return all
}

func (l ThreadLists) follow(mem callbacks.Memory, all []Thread, head uint64, limit int) []Thread {
	low, high := min(l.node, l.tid), max(l.node+8, l.tid+4) // the needed part of a struct pthread, in one read
	r := reader{mem: mem}
	b := make([]byte, high-low)
	node := r.word(head + l.next)
	for range limit {
		if node == head || node == 0 {
			break
		}
		block := node - l.node
		if r.read(block+low, b); r.err != nil {
			break
		}
		all = append(all, Thread{Pthread: block, LWP: callbacks.Word(b[l.tid-low:][:4])})
		node = callbacks.Word(b[l.node+l.next-low:][:8])
	}
	return all
}
