package arch

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// SignalInfoSize is the size of siginfo_t in bytes, as in NT_SIGINFO and PTRACE_GETSIGINFO.
const SignalInfoSize = 128

// SignalInfo is the decoded siginfo_t of a signal.
type SignalInfo struct {
	Signal     int
	Code       int    // si_code
	Address    uint64 // si_addr; meaningful only if HasAddress
	HasAddress bool   // the kernel raised the signal for a known address
	Sender     int    // process that sent it; 0 if the kernel raised it
}

// Signals with an address in siginfo_t.
const (
	sigILL  = 4
	sigTRAP = 5
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
	sigSYS  = 31
)

// siKernel is the si_code of signals that the kernel raised by itself: from the terminal, or for a fault at an
// unknown address.
const siKernel = 0x80

// FromKernel reports whether the kernel raised the signal by itself.
func (s SignalInfo) FromKernel() bool { return s.Code == siKernel }

// faultNames are the signals that the kernel raises for an instruction.
var faultNames = map[int]string{
	sigILL: "SIGILL", sigTRAP: "SIGTRAP", sigBUS: "SIGBUS", sigFPE: "SIGFPE", sigSEGV: "SIGSEGV", sigSYS: "SIGSYS",
}

// Fault returns the name of a signal that the kernel raised for an instruction of the thread; not ok if a
// process sent it.
func (s SignalInfo) Fault() (name string, ok bool) {
	name, ok = faultNames[s.Signal]
	return name, ok && s.Code > 0
}

// IsFault reports whether a signal with that name can be a fault.
func IsFault(name string) bool {
	for _, n := range faultNames {
		if n == name {
			return true
		}
	}
	return false
}

// Offsets in the data that the kernel saves on the stack when it calls a signal handler on x86-64: struct
// ucontext, followed by siginfo_t if the handler asked for it (struct rt_sigframe).
const (
	savedSP, savedPC = 160, 168
	savedError       = 192 // error code of a page fault; bit 0 is set if the page was present
	savedTrap        = 200 // number of the processor's exception
	savedCR2         = 216 // address of a page fault
	savedInfo        = 304
	// SavedSize is the size of the used part, in bytes.
	SavedSize = savedInfo + SignalInfoSize
	// SavedSpace is the largest distance from the stack pointer, in bytes: the red zone, and all registers with
	// their extensions, are in between.
	SavedSpace = 16 << 10
)

// SavedSignal decodes the signal of a running handler. b is the memory that the kernel saved for the handler; it
// starts at the stack pointer of the handler's return trampoline. It is not ok if b is not such memory.
func SavedSignal(a callbacks.Arch, b []byte) (info SignalInfo, ok bool) {
	at := 0
	if a == callbacks.ArchX86_64 {
		at = savedInfo
	}
	if len(b) < SavedSize {
		return SignalInfo{}, false
	}
	info, ok = ParseSignalInfo(b[at : at+SignalInfoSize])
	const last = 64 // highest signal number
	return info, ok && info.Signal > 0 && info.Signal <= last
}

// SavedFault decodes the fault for which a signal handler was called, from b as for SavedSignal. signal is the
// signal that ended the program; code is the code at the faulting instruction. It is not ok unless the fault is
// proved to be the cause of signal.
func SavedFault(a callbacks.Arch, b []byte, signal string, code []byte) (info SignalInfo, ok bool) {
	at := 0
	if a == callbacks.ArchX86_64 {
		at = savedInfo
	} else if a != callbacks.ArchAArch64 {
		return SignalInfo{}, false
	}
	if len(b) < SavedSize {
		return SignalInfo{}, false
	}
	info, _ = ParseSignalInfo(b[at : at+SignalInfoSize])
	if name, fault := info.Fault(); fault && (name == signal || signal == "SIGABRT") {
		return info, true
	}
	if a == callbacks.ArchX86_64 {
		info, ok = trapped(b, signal, code)
	}
	return info, ok
}

// trapped decodes the CPU exception of a signal. Its number is still set when another signal is sent later.
func trapped(b []byte, signal string, code []byte) (info SignalInfo, ok bool) {
	word := func(at int) uint64 { return callbacks.Word(b[at : at+8]) }
	info = SignalInfo{Address: word(savedPC), HasAddress: true}
	switch trap := word(savedTrap); {
	case trap == 0 && divides(code):
		info.Signal, info.Code = sigFPE, 1
	case trap == 6:
		info.Signal, info.Code = sigILL, 2
	case trap == 13:
		info.Signal, info.Code, info.HasAddress = sigSEGV, siKernel, false
	case trap == 14 && signal == faultNames[sigBUS]:
		info.Signal, info.Code, info.Address = sigBUS, 2, word(savedCR2)
	case trap == 14:
		info.Signal, info.Code, info.Address = sigSEGV, 1+int(word(savedError)&1), word(savedCR2)
	case trap == 16 || trap == 19:
		info.Signal, info.Code = sigFPE, fpeUnknown
	}
	return info, info.Signal != 0 && faultNames[info.Signal] == signal
}

// fpeUnknown is the code of an unspecified floating-point exception (FPE_FLTUNK).
const fpeUnknown = 14

// divides reports whether x86 code starts with an integer division.
func divides(code []byte) bool {
	for len(code) > 2 && (code[0]&0xf0 == 0x40 || code[0] == 0x66) {
		code = code[1:]
	}
	return len(code) >= 2 && code[0]&^1 == 0xf6 && code[1]>>3&7 >= 6 // div, idiv
}

// Returned finds the memory that the kernel saved for a handler that returned to the place in r. It searches the
// memory below the stack pointer for the registers of r.
func Returned(r *callbacks.Registers, below []byte) (saved []byte, ok bool) {
	for at := len(below) - SavedSize; at >= 0 && r.Arch == callbacks.ArchX86_64; at -= 8 {
		if b := below[at : at+SavedSize]; callbacks.Word(b[savedSP:savedSP+8]) == r.SP() &&
			callbacks.Word(b[savedPC:savedPC+8]) == r.PC() {
			return b, true
		}
	}
	return nil, false
}

// IsTrap reports whether code starts with an instruction that compilers use to mark unreachable code.
func IsTrap(a callbacks.Arch, code []byte) bool {
	switch {
	case a == callbacks.ArchX86_64 && len(code) >= 2:
		return code[0] == 0x0f && code[1] == 0x0b // ud2
	case a == callbacks.ArchAArch64 && len(code) >= 4:
		w := callbacks.Word(code[:4])
		return w>>16 == 0 || w&0xffe0001f == 0xd4200000 // udf, brk
	}
	return false
}

// ParseSignalInfo decodes siginfo_t; not ok if b is too short.
func ParseSignalInfo(b []byte) (info SignalInfo, ok bool) {
	if len(b) < 24 {
		return info, false
	}
	info = SignalInfo{
		Signal:  int(int32(callbacks.Word(b[:4]))),
		Code:    int(int32(callbacks.Word(b[8:12]))),
		Address: callbacks.Word(b[16:24]),
	}
	if info.Code <= 0 {
		info.Sender = int(int32(callbacks.Word(b[16:20])))
	}
	switch info.Signal {
	case sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV:
		info.HasAddress = info.Code > 0 && info.Code != siKernel
	}
	return info, true
}
