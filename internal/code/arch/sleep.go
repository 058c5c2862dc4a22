package arch

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// SleepCall is a system call that only waits for time to pass, or for a signal. No other thread, descriptor or
// memory word ends it.
type SleepCall struct {
	Name string // of the system call
	// Time is the address of the time passed to the call. It is null if the call has no limit, if the time is in
	// Milliseconds, or if it is unknown (aarch64, where the result of the call may have replaced it).
	Time         callbacks.Address
	Micro        bool // Time is a struct timeval; otherwise a struct timespec
	Deadline     bool // Time is an absolute time on the clock with number Clock
	Clock        int
	Milliseconds int64 // of poll; 0 if the call has no limit, or the limit is in Time
	Endless      bool  // only a signal ends it
	// Rest is the address to which the kernel writes the remaining time when the call is interrupted, or null.
	// If Interrupted is set, the kernel has written it.
	Rest        callbacks.Address
	Interrupted bool
}

// timerAbsolute is TIMER_ABSTIME of clock_nanosleep(2).
const timerAbsolute = 1

// Results of an interrupted call for which the kernel has written the remaining time: a call that
// restart_syscall continues, and a call that is executed again with the remaining time (linux/errno.h).
const (
	restartNoHandler = -514
	restartBlock     = -516
)

// FindSleep finds the system call in which a thread sleeps, or that it is about to continue after a stop
// interrupted it.
func FindSleep(r *callbacks.Registers, mem callbacks.Memory) (SleepCall, bool) {
	if in, ok := ContinuedCall(r, mem); ok {
		r = &in
	}
	if InCall(r) {
		result := int64(r.Values[0])
		return sleepIn(r, SyscallName(r.Arch, r.Syscall), result == restartBlock, result == restartNoHandler)
	}
	if in, ok := arm64SleepCall(r, mem); ok {
		return sleepIn(&in, SyscallName(in.Arch, in.Syscall), false, false)
	}
	if r.Arch != callbacks.ArchX86_64 || r.Syscall < 0 || int64(r.Values[0]) != r.Syscall || !isAtSyscall(r, mem) {
		return SleepCall{}, false
	}
	return sleepIn(r, SyscallName(r.Arch, r.Syscall), false, true)
}

// arm64SleepCall returns the registers of a thread on aarch64 that is in a call by an svc instruction, as if the
// kernel's record of the call were there. Before the kernel stops a thread in a call that it would start again, it sets
// the PC back to the instruction, restores the first argument, and forgets the call. An emulator leaves the PC after
// the instruction and the argument in the register of the result: the thread is in the call if that is no result.
func arm64SleepCall(r *callbacks.Registers, mem callbacks.Memory) (in callbacks.Registers, ok bool) {
	if r.Arch != callbacks.ArchAArch64 {
		return callbacks.Registers{}, false
	}
	number, after := int64(int32(r.Values[arm64Number])), r.PC()
	switch {
	case isARMCall(mem, after):
		after += armInstruction
	case !isARMCall(mem, after-armInstruction) || !isNoResult(SyscallName(r.Arch, number), r.Values[0]):
		return callbacks.Registers{}, false
	}
	if SyscallName(r.Arch, number) == "restart_syscall" {
		if number, ok = arm64NumberBefore(mem, after-armInstruction); !ok {
			return callbacks.Registers{}, false
		}
	}
	in = *r
	SetSyscall(&in, number)
	in.SetPC(after)
	return in, true
}

// maxSignal is the highest number of a signal, the largest result of a call that only sleeps.
const maxSignal = 64

// isNoResult reports whether a value is no result of a call that only sleeps: it is the first argument.
func isNoResult(name string, value uint64) bool {
	return int64(value) > maxSignal || name == "clock_nanosleep" && int64(value) > 0
}

// isARMCall reports whether the instruction at an address is a system call.
func isARMCall(mem callbacks.Memory, at uint64) bool {
	var code [armInstruction]byte
	return mem.ReadMemory(callbacks.Addr(at), code[:]) == nil && callbacks.Word(code[:]) == armSVC
}

// arm64NumberBefore returns the number of the system call at an address, which the instructions before it load as a
// constant. Any other instruction that may write the number's register, and any branch, load or store, ends the search.
func arm64NumberBefore(mem callbacks.Memory, at uint64) (int64, bool) {
	for range SyscallCode / armInstruction {
		at -= armInstruction
		var code [armInstruction]byte
		if mem.ReadMemory(callbacks.Addr(at), code[:]) != nil {
			return 0, false
		}
		switch w := callbacks.Word(code[:]); {
		case w&armMOVZMask == armMOVZ|arm64Number:
			return int64(w >> 5 & 0xffff), true
		case w&armRegister == arm64Number, w&armBranchesMask == armBranches, w&armMemoryMask == armMemory:
			return 0, false
		}
	}
	return 0, false
}

// ContinuedCall returns the registers of a thread that continues an interrupted call by restart_syscall, or is about
// to, as if it were in that call: its arguments are still in the registers. The code before the PC shows its number,
// or the arguments do, where the number was one of them (syscall of the C library). It is not ok for a futex wait that
// is about to continue although the word has changed. It is never ok on aarch64.
func ContinuedCall(r *callbacks.Registers, mem callbacks.Memory) (in callbacks.Registers, ok bool) {
	if r.Arch != callbacks.ArchX86_64 || r.Syscall < 0 {
		return callbacks.Registers{}, false
	}
	in = *r
	inside := Restarts(r)
	if !inside {
		if SyscallName(r.Arch, int64(r.Values[0])) != "restart_syscall" || !isAtSyscall(r, mem) {
			return callbacks.Registers{}, false
		}
		in.SetPC(r.PC() + 2)
		in.Set(0, ^uint64(-restartBlock-1))
	}
	if SyscallName(r.Arch, r.Syscall) == "restart_syscall" {
		var code [SyscallCode]byte
		if mem.ReadMemory(callbacks.Addr(in.PC()-SyscallCode), code[:]) != nil {
			return callbacks.Registers{}, false
		}
		number, known := SyscallBefore(&in, code[:])
		switch {
		case known:
			in.Syscall = number
		case isLimitedWait(in, mem):
			in.Syscall = x86Futex
		default:
			return callbacks.Registers{}, false
		}
	}
	return in, inside || !blocks(&in) || isUnchanged(&in, mem)
}

// isLimitedWait reports whether the registers of a call on x86-64 can only be those of a futex wait with a time limit:
// the operation has the flag of private futexes, the word has the expected value, and the limit is a time.
func isLimitedWait(r callbacks.Registers, mem callbacks.Memory) bool {
	const nanoseconds = 1_000_000_000
	var limit [16]byte
	r.Syscall = x86Futex
	return HasLimit(&r) && r.SyscallArgs[1]&futexPrivate != 0 && isUnchanged(&r, mem) &&
		mem.ReadMemory(callbacks.Addr(r.SyscallArgs[3]), limit[:]) == nil && callbacks.Word(limit[8:]) < nanoseconds
}

// isAtSyscall reports whether the next instruction of a thread is a system call.
func isAtSyscall(r *callbacks.Registers, mem callbacks.Memory) bool {
	var code [2]byte
	return mem.ReadMemory(callbacks.Addr(r.PC()), code[:]) == nil && code == [2]byte{0x0f, 0x05}
}

// sleepIn decodes a system call from its name and arguments. continued and repeated are set if the kernel has
// interrupted it: to continue by restart_syscall, or to be executed again.
func sleepIn(r *callbacks.Registers, name string, continued, repeated bool) (SleepCall, bool) {
	s := SleepCall{Name: name}
	a, first := &r.SyscallArgs, r.Arch == callbacks.ArchX86_64 || !InCall(r) // else the result has replaced it
	switch name {
	case "nanosleep":
		s.Rest, s.Interrupted = callbacks.Addr(a[1]), continued
		if first {
			s.Time = callbacks.Addr(a[0])
		}
	case "clock_nanosleep":
		s.Time, s.Rest, s.Interrupted = callbacks.Addr(a[2]), callbacks.Addr(a[3]), continued
		if s.Deadline = a[1]&timerAbsolute != 0; s.Deadline {
			s.Rest, s.Interrupted, s.Clock = callbacks.Address{}, false, int(int32(a[0]))
			if !first {
				s.Time = callbacks.Address{}
			}
		}
	case "select", "pselect6":
		if (!first || int32(a[0]) != 0) && (a[1] != 0 || a[2] != 0 || a[3] != 0) {
			return SleepCall{}, false
		}
		s.Time, s.Micro, s.Endless = callbacks.Addr(a[4]), name == "select", a[4] == 0
		s.Rest, s.Interrupted = s.Time, repeated
	case "ppoll":
		if a[1] != 0 {
			return SleepCall{}, false
		}
		s.Time, s.Endless = callbacks.Addr(a[2]), a[2] == 0
		s.Rest, s.Interrupted = s.Time, repeated
	case "poll":
		if a[1] != 0 {
			return SleepCall{}, false
		}
		s.Milliseconds = max(int64(int32(a[2])), 0)
		s.Endless = int32(a[2]) < 0
	case "pause", "rt_sigsuspend":
		s.Endless = true
	case "rt_sigtimedwait":
		s.Time, s.Endless = callbacks.Addr(a[2]), a[2] == 0
	default:
		return SleepCall{}, false
	}
	return s, true
}
