package waits

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// spinLockCall is the function in which a thread spins until it acquires a spin lock of the C library.
const spinLockCall = "pthread_spin_lock"

// librarySpinWait finds the wait of n for a spin lock of the C library. The lock is the argument of the call, and its
// word marks it as held: it is 1 if it is free on x86, and 0 on other processors.
func (nw *nativeWaits) librarySpinWait(n *teams.Thread, regs *callbacks.Registers) (wait, bool) {
	if regs.Syscall >= 0 || !nw.isInCall(n, spinLockCall) {
		return wait{}, false
	}
	addr, ok := nw.topArgument(n, 0)
	if !ok {
		return wait{}, false
	}
	word, err := layout.ReadUint(nw.target, callbacks.Addr(addr), 4)
	if err != nil {
		return wait{}, false
	}
	held := int32(word) != freeSpinLock[regs.Arch]
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitMutex, Name: nw.data.PlaceName(addr), Call: spinLockCall},
		address: addr, variable: addr,
	}
	w.Evidence = fmt.Sprintf("it is in %s, and the word of the spin lock at %v is %d: held", spinLockCall,
		picture.Hex(addr), int32(word))
	return w, held
}

// freeSpinLock is the value of a pthread_spinlock_t that nobody holds: glibc has code of its own for x86-64, which
// counts down from it, and exchanges it with 1 elsewhere.
var freeSpinLock = map[callbacks.Arch]int32{callbacks.ArchX86_64: 1}

// spinLock describes the spin lock that w waits for. It names no owner: its holders follow from the stacks.
func (wf *Finder) spinLock(w wait) picture.Lock {
	l := picture.Lock{Implementation: "spin", Held: true, Evidence: w.Evidence}
	shared, known := wf.native.spins.sharedMapping(w.address) // its memory does not show whether others may use it
	l.Shared = shared && known
	l.Holders = wf.holders.find(w, l)
	return l
}
