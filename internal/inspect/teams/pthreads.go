package teams

import (
	"errors"
)

// maxBlock bounds the distance from a thread's pthread_t to its thread pointer, in bytes: the size of the C library's
// control block on architectures where the pointer is after it. glibc's have about 2 KB.
const maxBlock = 8 << 10

// errNoPthread is the error of a thread of a runtime that could not be found among the target's.
var errNoPthread = errors.New("its native thread could not be identified: the pthread_t of the target's threads are " +
	"unknown")

// UnidentifiedText explains why a native thread may be one of a runtime.
const UnidentifiedText = "could not be read: its pthread_t, by which the runtime knows its threads, is unknown " +
	"without the file of the C library or the thread pointers"

// findPthreads sets the pthread_t of the target's threads if none is known, as on aarch64 without the file of the C
// library. All of them are at one distance before the thread pointers: that of most threads that the runtimes know.
func (r *ThreadTable) findPthreads() {
	if len(r.ByPthread) > 0 {
		return
	}
	known := r.runtimePthreads()
	pointers := map[*Thread]uint64{}
	for _, n := range r.All {
		if regs := n.Registers(); regs != nil && regs.ThreadPointer != 0 {
			pointers[n] = regs.ThreadPointer
		}
	}
	if len(known) == 0 {
		r.Unidentified = len(r.Runtimes) > 0 && len(pointers) == 0
		return
	}
	distance, ok := commonDistance(pointers, known)
	if !ok {
		r.Unidentified = true
		return
	}
	for n, tp := range pointers {
		n.Pthread = tp - distance
		r.ByPthread[n.Pthread] = n
	}
}

// runtimePthreads returns the pthread_t of all threads that the runtimes list.
func (r *ThreadTable) runtimePthreads() map[uint64]bool {
	known := map[uint64]bool{}
	for _, rt := range r.Runtimes {
		for h, err := range rt.Threads() {
			if err != nil || r.notes.Exceeded("threads") {
				continue
			}
			if info, err := rt.Thread(h); err == nil && info.Pthread.Value != 0 {
				known[info.Pthread.Value] = true
			}
		}
	}
	return known
}

// commonDistance returns the distance of thread pointers to pthread_t that most known ones have.
func commonDistance(pointers map[*Thread]uint64, known map[uint64]bool) (distance uint64, ok bool) {
	votes := map[uint64]int{}
	for _, tp := range pointers {
		for p := range known {
			if d := tp - p; d <= maxBlock {
				votes[d]++
			}
		}
	}
	most := 0
	for d, n := range votes {
		if n > most {
			distance, most = d, n
		}
	}
	return distance, 2*most > len(known)
}
