package live

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

// peek lists the threads without stopping them. Of a thread that waits in the
// kernel it gives stack pointer, program counter and system call; others have
// ErrRunning.
func (p *Process) peek() ([]thread, error) {
	tids, err := taskIDs(p.pid)
	if err != nil {
		return nil, p.refused(err)
	}
	pointers := p.threadPointers()
	list := make([]thread, 0, len(tids))
	for _, tid := range tids {
		if t := p.peekThread(tid, pointers[p.insideID(tid)]); !isGone(t.err) {
			list = append(list, t)
		}
	}
	return list, nil
}

// peekThread reads what /proc tells of a thread.
func (p *Process) peekThread(tid int, pointer uint64) thread {
	t := thread{lwp: uint64(tid)}
	b, err := readProc(taskPath(p.pid, tid, "syscall"))
	if err == nil {
		t.regs, err = parseSyscall(p.arch, string(b))
	}
	t.regs.Arch, t.regs.ThreadPointer, t.err = p.arch, pointer, err
	return t
}

// parseSyscall reads a line of /proc/PID/syscall: "running", or "-1 sp pc", or
// the number of the system call, its six arguments, sp and pc. A thread of which the
// kernel has only the number left has none of them.
func parseSyscall(a callbacks.Arch, line string) (callbacks.Registers, error) {
	r := callbacks.Registers{Arch: a, Syscall: -1}
	words := strings.Fields(line)
	if len(words) != 3 && len(words) != 9 {
		return r, ErrRunning
	}
	sp, err1 := strconv.ParseUint(words[len(words)-2], 0, 64)
	pc, err2 := strconv.ParseUint(words[len(words)-1], 0, 64)
	if err1 != nil || err2 != nil {
		return r, ErrRunning
	}
	if sp == 0 && pc == 0 {
		return r, unix.ESRCH
	}
	r.SetSP(sp)
	r.SetPC(pc)
	if len(words) == 3 {
		return r, nil
	}
	arch.SetSyscall(&r, int64(number(words[0])))
	for i := range r.SyscallArgs {
		r.SyscallArgs[i], _ = strconv.ParseUint(words[1+i], 0, 64)
	}
	if a == callbacks.ArchX86_64 && r.Syscall >= 0 {
		const rax, enosys = 0, 38 // what the kernel has there until the call is done
		r.Set(rax, ^uint64(enosys-1))
	}
	return r, nil
}

// peekSettled is peek for threads that are looked at twice: given those of the
// first time, it gives ErrRunning to those that ran since.
func (p *Process) peekSettled(before []thread) ([]thread, error) {
	list, err := p.peek()
	if err != nil {
		return nil, err
	}
	known := newRoster(before)
	for i := range list {
		t := &list[i]
		if t.err != nil {
			continue
		}
		st, err := readStatusFile(taskPath(p.pid, int(t.lwp), "status"))
		if err != nil || st.state == 'R' {
			t.err = ErrRunning
			continue
		}
		t.switches = st.switches
		if before == nil {
			continue
		}
		old := known.find(t.lwp)
		if old == nil || old.err != nil || old.switches != t.switches || old.regs.PC() != t.regs.PC() {
			t.err = ErrRunning
		}
	}
	return list, nil
}

// insideID is the number that a thread has in its own PID namespace, which is
// what its C library knows.
func (p *Process) insideID(tid int) int {
	if p.samePIDs {
		return tid
	}
	st, err := readStatusFile(taskPath(p.pid, tid, "status"))
	if err != nil || len(st.nsPIDs) == 0 {
		return tid
	}
	return st.nsPIDs[len(st.nsPIDs)-1]
}

// field is how glibc describes a field to libthread_db: size in bits, number of
// elements, offset.
type field [3]uint32

// threadPointers walks glibc's lists of threads (_rtld_global._dl_stack_used
// and _dl_stack_user, since glibc 2.34), which is the only way to thread
// pointers of threads that run. What it cannot find is not in the map, by the
// thread id that the C library has.
func (p *Process) threadPointers() map[int]uint64 {
	_, mods := p.layout()
	global, err := mods.Symbol("_rtld_global", "")
	if err != nil {
		return nil
	}
	var used, user, list, tid field
	for name, f := range map[string]*field{
		"_thread_db_rtld_global__dl_stack_used": &used, "_thread_db_rtld_global__dl_stack_user": &user,
		"_thread_db_pthread_list": &list, "_thread_db_pthread_tid": &tid,
	} {
		a, err := mods.Symbol(name, "")
		if err != nil {
			return nil
		}
		var b [12]byte
		if p.mem.ReadMemory(a, b[:]) != nil {
			return nil
		}
		*f = field{uint32(callbacks.Word(b[:4])), uint32(callbacks.Word(b[4:8])), uint32(callbacks.Word(b[8:]))}
	}
	found := map[int]uint64{}
	tids, _ := taskIDs(p.pid)
	for _, head := range []field{used, user} {
		p.walkThreads(global.Add(uint64(head[2])), uint64(list[2]), uint64(tid[2]), 2*len(tids)+spareThreads, found)
	}
	return found
}

// maxPthread bounds the size of glibc's struct pthread in bytes, which has some 2 KiB.
const maxPthread = 16 << 10

// walkThreads follows one list. While threads come and go it may end early or
// lead astray: it is left after limit steps, some more than there are threads.
func (p *Process) walkThreads(head callbacks.Address, list, tid uint64, limit int, found map[int]uint64) {
	_, mods := p.layout()
	low, high := min(list, tid), max(list+8, tid+4) // what is read of a struct pthread, with one read
	if high-low > maxPthread {
		return
	}
	b := make([]byte, high-low)
	if p.mem.ReadMemory(head, b[:8]) != nil {
		return
	}
	node := callbacks.At(callbacks.Word(b[:8]))
	for range limit {
		if node == head || node.IsNull() {
			return
		}
		pthread := node.Offset - list
		if p.mem.ReadMemory(callbacks.At(pthread+low), b) != nil {
			return
		}
		if tp, err := mods.ThreadPointer(pthread); err == nil {
			found[int(callbacks.Word(b[tid-low:][:4]))] = tp
		}
		node = callbacks.At(callbacks.Word(b[list-low:][:8]))
	}
}
