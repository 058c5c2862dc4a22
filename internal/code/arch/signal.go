package arch

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// SignalInfoSize is the size of siginfo_t in bytes, as NT_SIGINFO and
// PTRACE_GETSIGINFO have it.
const SignalInfoSize = 128

// SignalInfo is what siginfo_t tells of a signal.
type SignalInfo struct {
	Signal     int
	Code       int    // si_code
	Address    uint64 // si_addr; meaningful only if HasAddress
	HasAddress bool   // the kernel raised the signal and knew for which address
	Sender     int    // process that sent it; 0 if none did
}

// Signals that come with an address in siginfo_t.
const (
	sigILL  = 4
	sigTRAP = 5
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
	sigSYS  = 31
)

// siKernel is the si_code of what the kernel raised by itself: a signal of the
// terminal, a fault whose address the processor did not tell.
const siKernel = 0x80

// FromKernel reports whether no process sent the signal.
func (s SignalInfo) FromKernel() bool { return s.Code == siKernel }

// faultNames are the signals that the kernel raises for what an instruction did.
var faultNames = map[int]string{
	sigILL: "SIGILL", sigTRAP: "SIGTRAP", sigBUS: "SIGBUS", sigFPE: "SIGFPE", sigSEGV: "SIGSEGV", sigSYS: "SIGSYS",
}

// Fault returns the name of a signal that the kernel raised for what an instruction of
// the thread did; not ok if somebody sent it.
func (s SignalInfo) Fault() (name string, ok bool) {
	name, ok = faultNames[s.Signal]
	return name, ok && s.Code > 0
}

// IsFault reports whether the signal of that name is one that Fault tells.
func IsFault(name string) bool {
	for _, n := range faultNames {
		if n == name {
			return true
		}
	}
	return false
}

// What the kernel saves on the stack when it calls the handler of a signal on
// x86-64: struct ucontext, and siginfo_t behind it if the handler asked for it
// (struct rt_sigframe).
const (
	savedSP, savedPC = 160, 168
	savedError       = 192 // of a page fault: bit 0 tells that memory was there
	savedTrap        = 200 // number of the processor's exception
	savedCR2         = 216 // address of a page fault
	savedInfo        = 304
	// SavedSize is how much of that is looked at, in bytes.
	SavedSize = savedInfo + SignalInfoSize
	// SavedSpace is how far below the stack pointer it may lie: the red zone, and
	// all registers with their extensions, come between.
	SavedSpace = 16 << 10
)

// SavedSignal returns the signal of which the handler was called for which the kernel saved b, with the
// stack pointer of the trampoline that the handler returns to at its start. It is not ok if b
// is no such memory.
func SavedSignal(a callbacks.Arch, b []byte) (info SignalInfo, ok bool) {
	at := 0
	if a == callbacks.ArchX86_64 {
		at = savedInfo
	}
	if len(b) < SavedSize {
		return SignalInfo{}, false
	}
	info, ok = ParseSignalInfo(b[at : at+SignalInfoSize])
	const last = 64 // signal
	return info, ok && info.Signal > 0 && info.Signal <= last
}

// SavedFault returns the fault of which the handler was called for which the kernel saved
// b, with the stack pointer of the trampoline that the handler returns to at its
// begin. signal is what the program died of; code is that at the instruction. It is
// not ok if it was no fault, or none that proves to be the cause of signal.
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

// trapped returns the name of the fault for an exception of the processor.
// That stays behind when a signal is sent.
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

// fpeUnknown is the code of a floating-point exception that is not known closer
// (FPE_FLTUNK).
const fpeUnknown = 14

// divides reports whether x86 code begins with a division of integers.
func divides(code []byte) bool {
	for len(code) > 2 && (code[0]&0xf0 == 0x40 || code[0] == 0x66) {
		code = code[1:]
	}
	return len(code) >= 2 && code[0]&^1 == 0xf6 && code[1]>>3&7 >= 6 // div, idiv
}

// Returned finds what the kernel saved for a handler that has returned to where r is,
// in the memory below the stack pointer: the registers saved there are those of r.
func Returned(r *callbacks.Registers, below []byte) (saved []byte, ok bool) {
	for at := len(below) - SavedSize; at >= 0 && r.Arch == callbacks.ArchX86_64; at -= 8 {
		if b := below[at : at+SavedSize]; callbacks.Word(b[savedSP:savedSP+8]) == r.SP() &&
			callbacks.Word(b[savedPC:savedPC+8]) == r.PC() {
			return b, true
		}
	}
	return nil, false
}

// IsTrap reports whether code begins with an instruction that compilers put where
// execution must not come.
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

// ParseSignalInfo decodes siginfo_t; not ok if b is too short for one.
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
