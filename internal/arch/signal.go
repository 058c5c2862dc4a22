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
}

// Signals that come with an address in siginfo_t.
const (
	sigILL  = 4
	sigTRAP = 5
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
)

// siKernel is the si_code of what the kernel raised by itself: a signal of the
// terminal, a fault whose address the processor did not tell.
const siKernel = 0x80

// FromKernel tells whether no process sent the signal.
func (s SignalInfo) FromKernel() bool { return s.Code == siKernel }

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
	switch info.Signal {
	case sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV:
		info.HasAddress = info.Code > 0 && info.Code != siKernel
	}
	return info, true
}
