package live

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// peek lists the threads without stopping them. A thread that waits in the kernel has stack
// pointer, program counter and system call; others have ErrRunning.
func (p *Process) peek() ([]thread, error) {
	tids, err := taskIDs(p.pid)
	if err != nil {
		return nil, p.explainRefusal(err)
	}
	dir, err := unix.Open(procPath(p.pid, "task"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, p.explainRefusal(err)
	}
	defer unix.Close(dir)
	pointers := p.threadPointers(len(tids))
	list := make([]thread, 0, len(tids))
	for _, tid := range tids {
		if t := p.peekIn(dir, strconv.Itoa(tid)+"/syscall", tid, pointers[p.insideID(tid)]); !isGone(t.err) {
			list = append(list, t)
		}
	}
	if p.opts.Registers != nil {
		told := p.opts.Registers()
		for i := range list {
			list[i].addRegisters(told[int(list[i].lwp)])
		}
	}
	return list, nil
}

// addRegisters adds the registers that a debugger gave for the thread, by name.
func (t *thread) addRegisters(told map[string]uint64) {
	for n, name := range arch.RegisterNames(t.regs.Arch) {
		if v, ok := told[name]; ok {
			t.regs.Set(n, v)
		}
	}
	for _, name := range []string{"fs_base", "tpidr"} {
		if v := told[name]; v != 0 {
			t.regs.ThreadPointer = v
		}
	}
}

// peekThread reads the registers of a thread from /proc.
func (o *opened) peekThread(tid int, pointer uint64) thread {
	return o.peekIn(unix.AT_FDCWD, taskPath(o.pid, tid, "syscall"), tid, pointer)
}

// peekIn is peekThread with the path of the thread's file relative to an open directory.
func (o *opened) peekIn(dir int, path string, tid int, pointer uint64) thread {
	t := thread{lwp: uint64(tid)}
	var room [256]byte // a line is shorter
	b, err := readLine(dir, path, room[:])
	if err == nil {
		t.regs, err = parseSyscall(o.arch, string(b))
	}
	t.regs.Arch, t.regs.ThreadPointer, t.err = o.arch, pointer, err
	return t
}

// parseSyscall parses a line of /proc/PID/syscall: "running", or "-1 sp pc", or the number of the system call,
// its six arguments, sp and pc. A dead thread has no line, as the kernel keeps only its number.
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
	arch.SetSyscall(&r, int64(parseNumber(words[0])))
	for i := range r.SyscallArgs {
		r.SyscallArgs[i], _ = strconv.ParseUint(words[1+i], 0, 64)
	}
	arch.SetPending(&r)
	return r, nil
}

// peekSettled is peek for the second of two copies: threads that ran since before have ErrRunning.
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

// insideID returns a thread's number in its own PID namespace, which its C library uses.
func (o *opened) insideID(tid int) int {
	if o.samePIDs {
		return tid
	}
	st, err := readStatusFile(taskPath(o.pid, tid, "status"))
	if err != nil || len(st.nsPIDs) == 0 {
		return tid
	}
	return st.nsPIDs[len(st.nsPIDs)-1]
}

// threadPointers returns the thread pointers by the C library's thread id. The C library's lists of
// threads are the only source for running threads; missing ones are not in the map. count is the
// approximate number of threads.
func (p *Process) threadPointers(count int) map[int]uint64 {
	_, mods := p.lastLayout()
	lists, err := libc.FindThreadLists(mods)
	if err != nil {
		return nil // the C library does not publish them
	}
	found := make(map[int]uint64, count)
	for _, t := range lists.Running(p.mem, 2*count+spareThreads) {
		if tp, err := mods.ThreadPointer(t.Pthread); err == nil {
			found[int(t.LWP)] = tp
		}
	}
	return found
}
