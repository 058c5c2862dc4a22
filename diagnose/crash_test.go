package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// died is a program that a signal has ended in thread 1.
func died(signal string, code int, address uint64, change func(*picture.Fault)) func(scene) {
	return func(s scene) {
		f := &picture.Fault{Thread: 1, Signal: signal, Code: code, PC: hex(0x401000)}
		if address != 0 {
			f.Address = hex(address)
		}
		if change != nil {
			change(f)
		}
		s.Facts.Fault = f
	}
}

// mapped maps memory of some access at the address.
func mapped(access, file string) func(*picture.Fault) {
	return func(f *picture.Fault) {
		f.Memory = &picture.Nearby{Mapping: &picture.Mapping{Low: 0x7000, High: 0x9000, Access: access, File: file}}
	}
}

// crash returns the verdict on thread 1.
func crash(says string) []want {
	return []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "", says}}
}

// TestSegmentation checks the explanation of each kind of access.
func TestSegmentation(t *testing.T) {
	jump := func(more func(*picture.Fault)) func(*picture.Fault) {
		return func(f *picture.Fault) {
			if f.PC = f.Address; more != nil {
				more(f)
			}
		}
	}
	null := func(f *picture.Fault) { f.NullPointer = true }
	check(t, []scenario{
		{"null", 1, died("SIGSEGV", 1, 0, func(f *picture.Fault) {
			f.NullPointer, f.Address = true, hex(0)
		}), crash("dereferenced a null pointer")},
		{"a member of null", 1, died("SIGSEGV", 1, 0x18, null), crash("offset 24 of an object whose address is null")},
		{"a member of the object of a variable", 1, died("SIGSEGV", 1, 0x18, func(f *picture.Fault) {
			f.NullPointer, f.NullVariable = true, &picture.NullVariable{Name: "table", Address: 0x9000, Set: []int{2}}
		}), []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "initialize table in each",
			"offset 24 of an object whose address is null. The null pointer is the thread's own copy of table"}}},
		{"unmapped", 1, died("SIGSEGV", 1, 0x8000, nil),
			crash("accessed 0x8000, where nothing is mapped\nThe pointer")},
		{"no access", 1, died("SIGSEGV", 2, 0x8000, mapped("---", "")), crash("memory that permits no access")},
		{"read-only", 1, died("SIGSEGV", 2, 0x8000, mapped("r--", "/bin/a")), crash("wrote to read-only memory")},
		{"read-only code", 1, died("SIGSEGV", 2, 0x8000, mapped("r-x", "/bin/a")), crash("wrote to read-only memory")},
		{"may be written", 1, died("SIGSEGV", 2, 0x8000, mapped("rw-", "")), crash("its protection forbids")},
		{"jumped to data", 1, died("SIGSEGV", 2, 0x8000, jump(mapped("rw-", ""))), crash("which is not executable")},
		{"jumped to nothing", 1, died("SIGSEGV", 1, 0x8000, jump(nil)),
			crash("jumped to 0x8000, where nothing is mapped")},
		{"no address", 1, died("SIGSEGV", 0x80, 0, nil), crash("used an invalid address")},
		{"as another thread is in exit", 2, func(s scene) {
			died("SIGSEGV", 1, 0x8000, nil)(s)
			s.Threads[1].UserStack = []picture.Frame{
				{Kind: picture.FrameSystem, Function: "exit"},
				{Kind: picture.FrameUser, Function: "fail", File: "/src/a.c", Line: 9},
			}
		}, []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "after the parallel region",
			"has called exit in fail a.c:9 while this thread was at work"}}},
	})
}

// TestSignals checks the explanation of each other signal and its code.
func TestSignals(t *testing.T) {
	check(t, []scenario{
		{"misaligned", 1, died("SIGBUS", 1, 0x8001, nil), crash("accessed misaligned data")},
		{"past the end of a file", 1, died("SIGBUS", 2, 0x8000, mapped("r--", "/tmp/f")),
			crash("mapped file /tmp/f beyond its end")},
		{"no page", 1, died("SIGBUS", 2, 0x8000, mapped("rw-", "")), crash("the system had no page")},
		{"no page, nothing mapped", 1, died("SIGBUS", 2, 0x8000, nil), crash("the system had no page")},
		{"faulty memory, read", 1, died("SIGBUS", 4, 0x8000, nil), crash("a hardware error")},
		{"faulty memory, noticed", 1, died("SIGBUS", 5, 0x8000, nil), crash("a hardware error")},
		{"SIGBUS, another code", 1, died("SIGBUS", 3, 0x8000, nil), crash("memory that does not exist")},
		{"integer by zero", 1, died("SIGFPE", 1, 0x401000, nil), crash("divided an integer by zero")},
		{"integer overflow", 1, died("SIGFPE", 2, 0x401000, nil), crash("overflowed an integer")},
		{"floating-point by zero", 1, died("SIGFPE", 3, 0x401000, nil), crash("floating-point number by zero")},
		{"floating-point overflow", 1, died("SIGFPE", 4, 0x401000, nil), crash("overflowed a floating-point number")},
		{"floating-point underflow", 1, died("SIGFPE", 5, 0x401000, nil), crash("underflowed")},
		{"inexact", 1, died("SIGFPE", 6, 0x401000, nil), crash("inexact")},
		{"invalid", 1, died("SIGFPE", 7, 0x401000, nil), crash("feenableexcept")},
		{"subscript", 1, died("SIGFPE", 8, 0x401000, nil), crash("subscript out of range")},
		{"trapping operation", 1, died("SIGFPE", 14, 0x401000, nil), crash("that traps")},
		{"unknown instruction", 1, died("SIGILL", 2, 0x401000, nil), crash("this processor does not support")},
		{"trap", 1, died("SIGILL", 2, 0x401000, func(f *picture.Fault) { f.Trap = true }),
			crash("a trap that the compiler placed")},
		{"breakpoint", 1, died("SIGTRAP", 0x80, 0x401000, nil), crash("breakpoint with no debugger")},
		{"forbidden call", 1, died("SIGSYS", 1, 0x401000, nil), crash("system call that is forbidden")},
		{"no fault", 1, func(scene) {}, nil},
	})
}

// TestAbort checks the caller of abort.
func TestAbort(t *testing.T) {
	abort := func(a picture.Abort) func(scene) {
		return func(s scene) { a.Thread, s.Facts.Abort = 1, &a }
	}
	called := picture.Frame{Function: "give_up", File: "/src/a.c", Line: 7}
	check(t, []scenario{
		{"the program", 1, abort(picture.Abort{Caller: called}), crash("called abort in give_up a.c:7")},
		{"the handler of a signal", 1, abort(picture.Abort{Caller: called, Handler: &picture.SignalHandler{
			Signal: 6, Sender: 77, Interrupted: &picture.Frame{Function: "compute"},
		}}), []want{info(picture.VerdictCrash, "", "a signal that was sent to the program ended it", 1)}},
		{"the runtime, in a handler", 1, abort(picture.Abort{
			Component: "the OpenMP runtime", Message: "Assertion failure at kmp_lock.cpp(9).", MessageSource: "x",
			Handler: &picture.SignalHandler{Interrupted: &picture.Frame{Function: "compute"}},
		}), []want{{
			picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "acquire no lock in a handler",
			"the lock is probably one that the interrupted code was acquiring, or holds",
		}}},
		{"the runtime, in a handler that interrupted it", 1, abort(picture.Abort{
			Component: "the OpenMP runtime", Message: "Assertion failure at kmp_lock.cpp(9).", MessageSource: "x",
			Handler: &picture.SignalHandler{Interrupted: &picture.Frame{Function: "compute"}, Call: "omp_set_lock"},
		}), []want{{
			picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "acquire no lock in a handler",
			"which interrupted omp_set_lock in compute: no thread may call the runtime again before",
		}}},
		{"the C library, with its message", 1, abort(picture.Abort{
			Component: "the C library", Message: "free(): invalid pointer", MessageSource: "__abort_msg",
		}), []want{{
			picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "-fsanitize=address",
			"Its message: free(): invalid pointer. The program has probably written past the end of an array",
		}}},
		{"the C library, without", 1, abort(picture.Abort{Component: "the C library"}),
			crash("was not found in memory")},
		{"the runtime", 1, abort(picture.Abort{Component: "the OpenMP runtime", Message: "OMP: Error #13"}),
			crash("the OpenMP runtime ended the program")},
		{"the program, as it hung", 3, func(s scene) {
			abort(picture.Abort{Caller: called})(s)
			s.holds(2, 3, picture.WaitLock, "a")
			s.holds(3, 2, picture.WaitLock, "b")
		}, []want{
			hang(picture.VerdictDeadlock, "same order", "", 2, 3),
			info(picture.VerdictCrash, "", "called abort", 1),
		}},
		{"the program, as others waited for its lock", 2, func(s scene) {
			abort(picture.Abort{Caller: called})(s)
			s.holds(1, 2, picture.WaitLock, "a")
		}, crash("It died while it held a lock")},
		{"the runtime, in a lock that was freed", 2, func(s scene) {
			abort(picture.Abort{Component: "the OpenMP runtime", Message: "OMP: Error #13", MessageSource: "x"})(s)
			s.waits(1, picture.WaitLock, "l").Call = "omp_set_lock"
			s.lock("l").Held, s.lock("l").InvalidReason = true, "it was freed"
		}, []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "no thread uses it any more",
			"Its message: OMP: Error #13. omp_set_lock was given lock l (0x"}}},
		{"the runtime, in a lock in a state that it does not know", 1, abort(picture.Abort{
			Component: "the OpenMP runtime", Message: "OMP: Error #13: Assertion failure at kmp_lock.cpp(1391).",
			MessageSource: "x",
		}), []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "initialize each lock",
			"kmp_lock.cpp(1391). The lock that the runtime was given is in a state"}}},
		{"after a fault", 1, func(s scene) {
			abort(picture.Abort{Caller: called})(s)
			died("SIGFPE", 1, 0x401000, nil)(s)
		}, crash("divided an integer by zero")},
	})
}

// TestOverflow checks an access below a stack that is used up, and accesses that only look like it.
func TestOverflow(t *testing.T) {
	const low, high = 0x10000000, 0x10400000 // 4 MiB
	stack := func(sp uint64, change func(*picture.FaultStack)) func(*picture.Fault) {
		return func(f *picture.Fault) {
			f.Stack = &picture.FaultStack{Low: hex(low), High: hex(high), Source: "the runtime", SP: hex(sp)}
			if change != nil {
				change(f.Stack)
			}
		}
	}
	over := func(c picture.Certainty, fix, says string) []want {
		return []want{{picture.VerdictStackOverflow, picture.SeverityCrash, c, []int{1}, fix, says}}
	}
	fact := &picture.Frame{Function: "fact", File: "/src/a.c", Line: 3}
	check(t, []scenario{
		{"recursion", 1, died("SIGSEGV", 2, low-8, stack(low+16, func(s *picture.FaultStack) {
			s.Repeats, s.Repeated = 5000, fact
		})), over(picture.Certain, "OMP_STACKSIZE=16M", "fact a.c:3 is on the stack 5000 times")},
		{"recursion, cut", 1, died("SIGSEGV", 2, low-8, stack(low+16, func(s *picture.FaultStack) {
			s.Repeats, s.Repeated, s.Truncated = 5000, fact, true
		})), over(picture.Certain, "OMP_STACKSIZE", "more than 5000 times")},
		{"large frame", 1, died("SIGSEGV", 2, low-0x2000, stack(low-0x4000, func(s *picture.FaultStack) {
			s.FrameSize = 8 << 20
		})), over(picture.Certain, "OMP_STACKSIZE=16M", "alone takes 8M")},
		{"neither", 1, died("SIGSEGV", 2, low-8, stack(low, nil)),
			over(picture.Certain, "on the heap", "need more stack than it has")},
		{"initial thread", 1, died("SIGSEGV", 2, low-8, stack(low, func(s *picture.FaultStack) {
			s.Initial = true
		})), over(picture.Certain, "ulimit -s", "overflowed its stack, which grew to 4M")},
		{"no room for a handler", 1, died("SIGSEGV", 0x80, 0, stack(low-16, nil)),
			over(picture.Certain, "OMP_STACKSIZE", "overflowed")},
		{"little room for a handler", 1, died("SIGSEGV", 0x80, 0, stack(low+4096, nil)),
			over(picture.Likely, "OMP_STACKSIZE", "overflowed")},
		{"room for a handler", 1, died("SIGSEGV", 0x80, 0, stack(low+1<<20, nil)), crash("used an invalid address")},
		{"in the guard, from far above", 1, died("SIGSEGV", 2, low-8, stack(low+1<<20, nil)), crash("accessed")},
		{"far below", 1, died("SIGSEGV", 1, low-1<<24, stack(low+16, nil)), crash("where nothing is mapped")},
		{"inside of it", 1, died("SIGSEGV", 2, low+8, stack(low+16, nil)), crash("accessed")},
		{"bounds are not known", 1, died("SIGSEGV", 2, low-8, func(f *picture.Fault) {
			f.Stack = &picture.FaultStack{SP: hex(low)}
		}), crash("accessed")},
		{"SIGBUS, no address", 1, died("SIGBUS", 0x80, 0, stack(low-16, nil)), crash("does not exist")},
	})
}
