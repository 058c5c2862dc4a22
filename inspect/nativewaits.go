package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

// Fields of glibc's pthread_mutex_t on 64-bit machines, in bytes
// (sysdeps/nptl/bits/struct_mutex.h).
const (
	mutexOwner = 8  // LWP of the thread that has it, 0 if none
	mutexUsers = 12 // threads that have it or are about to
	mutexKind  = 16 // type and attributes
)

// Values of glibc's lock word: taken by one thread, taken and waited for.
const mutexContended = 2

// mutexShared is the bit of the kind of a mutex that other processes may use too
// (PTHREAD_MUTEX_PSHARED_BIT).
const mutexShared = 128

// x86ThreadID is where the field tid lies in glibc's struct pthread on x86-64, the
// same since it has 64-bit Linux.
const x86ThreadID = 720

// threadBlock is more than glibc's struct pthread, whose field tid pthread_join
// waits on, has bytes.
const threadBlock = 4096

// nativeWait is what n waits for in the C library: a mutex, or the end of a
// thread. Both are known from the futex word that it sleeps on.
func (in *Inspector) nativeWait(n *native) (Wait, bool) {
	regs := in.registers(n)
	if regs == nil {
		return Wait{}, false
	}
	futex, ok := arch.IsFutexWait(regs)
	if !ok {
		return Wait{}, false
	}
	word, ok := in.word(futex.Offset)
	if !ok {
		return in.locksMutex(n, futex.Offset, word)
	}
	for _, find := range []func(*native, uint64, uint32) (Wait, bool){in.joins, in.locksMutex, in.awaitsCondition, in.callsLock} {
		if w, ok := find(n, futex.Offset, word); ok {
			return w, true
		}
	}
	return Wait{}, false
}

// joins tells whether n waits for the end of a thread: its futex word lies in that
// thread's own block. Until glibc 2.41 the word is its LWP, which the kernel clears
// at the end; since then it is one that only pthread_join waits on.
func (in *Inspector) joins(n *native, futex uint64, word uint32) (Wait, bool) {
	t := in.threadAt(futex)
	if t == nil || t == n || t.lwp == 0 {
		return Wait{}, false
	}
	w := Wait{Kind: WaitJoin, Address: t.pthread, Name: fmt.Sprintf("end of LWP %d", t.lwp), On: t.lwp}
	switch {
	case int(word) == t.lwp:
		w.Evidence = fmt.Sprintf("it sleeps until the thread id %d at %v is cleared", word, Hex(futex))
	case in.called(n, "pthread_join"):
		w.Evidence = fmt.Sprintf("it called pthread_join and sleeps on the word at %v, in the block of that thread", Hex(futex))
	default:
		return Wait{}, false
	}
	return w, true
}

// threadAt is the thread in whose block addr lies; nil if it is none's.
func (in *Inspector) threadAt(addr uint64) *native {
	if in.blocks == nil {
		in.blocks = slices.Clone(in.natives)
		slices.SortFunc(in.blocks, func(a, b *native) int { return cmp.Compare(a.pthread, b.pthread) })
	}
	i, found := slices.BinarySearchFunc(in.blocks, addr, func(n *native, a uint64) int { return cmp.Compare(n.pthread, a) })
	if !found {
		i--
	}
	if i < 0 || in.blocks[i].pthread == 0 || addr-in.blocks[i].pthread >= threadBlock {
		return nil
	}
	return in.blocks[i]
}

// locksMutex tells whether n waits for a pthread mutex, which begins with its
// futex word and has its owner. What is in memory that was freed does not count.
func (in *Inspector) locksMutex(n *native, futex uint64, word uint32) (Wait, bool) {
	owner, ok1 := in.word(futex + mutexOwner)
	users, ok2 := in.word(futex + mutexUsers)
	_, ok3 := in.word(futex + mutexKind)
	sound := ok1 && ok2 && ok3 && word == mutexContended && users != 0
	if !in.called(n, "pthread_mutex_lock") || !sound && in.Gone(futex) == "" {
		return Wait{}, false
	}
	w := Wait{Kind: WaitMutex, Address: futex, Variable: futex, Name: in.placeName(futex)}
	if sound && in.byLWP[int(owner)] != nil {
		w.On, w.Evidence = int(owner), fmt.Sprintf("__owner of the mutex at %v is %d", Hex(futex), owner)
	}
	return w, true
}

// mutex tells who has the mutex that w waits for. Its owner is gone if the process
// has no thread of that number, and numbers its threads as the target does: in a
// container it may not.
func (in *Inspector) mutex(w Wait) Lock {
	l := Lock{Kind: "mutex", Held: true, Owner: w.On, Evidence: w.Evidence}
	owner, ok1 := in.word(w.Address + mutexOwner)
	kind, ok2 := in.word(w.Address + mutexKind)
	if w.On != 0 || !ok1 || !ok2 || owner == 0 || kind&mutexShared != 0 || !in.ownNumber(w.n) {
		return l
	}
	l.OwnerGone, l.Evidence = true, fmt.Sprintf("__owner of the mutex at %v is %d, which is no thread of the process", Hex(w.Address), owner)
	return l
}

// ownNumber tells whether a thread's block has the number by which the target calls
// the thread.
func (in *Inspector) ownNumber(n *native) bool {
	if n == nil || n.pthread == 0 || in.cfg.Target.Arch() != callbacks.ArchX86_64 {
		return false
	}
	tid, ok := in.word(n.pthread + x86ThreadID)
	return ok && int(tid) == n.lwp
}

// called tells whether the C library's frames on top of n's stack are those of one
// of its functions.
func (in *Inspector) called(n *native, function string) bool {
	st := in.stackOf(n)
	if in.cfg.Symbolizer == nil {
		return false
	}
	for _, f := range st.frames {
		if f.Module == nil || !isSystem(f.Module) {
			return strings.HasPrefix(in.callTarget(f.PC), function)
		}
		if name, _, ok := in.cfg.Symbolizer.Exported(f.LookupPC()); ok && strings.HasPrefix(strings.TrimLeft(name, "_"), function) {
			return true
		}
	}
	return false
}

// Asleep tells whether a thread is inside of a system call in which it waits, and
// uses no processor. It is true for a thread of which nothing is known.
func (in *Inspector) Asleep(lwp int) bool {
	n := in.byLWP[lwp]
	if n == nil {
		return true
	}
	regs := in.registers(n)
	return regs == nil || regs.Syscall >= 0 && arch.SyscallName(regs.Arch, regs.Syscall) != "sched_yield"
}
