package live

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

// maxRegsSize is room for user_regs_struct of both architectures: 27 and 34
// words.
const maxRegsSize = 34 * 8

// Register sets of PTRACE_GETREGSET (linux/elf.h).
const (
	ntPRStatus      = 1
	ntARMTLS        = 0x401
	ntARMSystemCall = 0x404
	ntARMPACMask    = 0x406
)

// armExtra is what aarch64 keeps outside of user_regs_struct.
type armExtra struct {
	tls    [8]byte
	call   [4]byte
	pac    [16]byte // mask for data, mask for code
	hasPAC bool
}

// readRegisters copies the registers of a thread that has stopped. They are
// decoded after the thread goes on.
func (t *tracer) readRegisters(k *task) {
	k.have, k.err = getRegs(k.tid, ntPRStatus, k.regs[:])
	if t.arch != callbacks.ArchAArch64 || k.err != nil {
		return
	}
	_, k.err = getRegs(k.tid, ntARMTLS, k.extra.tls[:])
	if _, err := getRegs(k.tid, ntARMSystemCall, k.extra.call[:]); err != nil {
		k.err = err
	}
	n, err := getRegs(k.tid, ntARMPACMask, k.extra.pac[:])
	k.extra.hasPAC = err == nil && n == len(k.extra.pac) // not every processor signs
}

func getRegs(tid int, set uintptr, b []byte) (int, error) {
	v := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	err := ptrace(unix.PTRACE_GETREGSET, tid, set, uintptr(unsafe.Pointer(&v)))
	return int(v.Len), err
}

// registers decodes what readRegisters copied.
func (k *task) registers(a callbacks.Arch) (callbacks.Registers, error) {
	if k.err != nil {
		return callbacks.Registers{}, fmt.Errorf("registers of LWP %d: %w", k.tid, k.err)
	}
	regs, err := arch.FromUserRegs(a, k.regs[:k.have])
	if err != nil || a != callbacks.ArchAArch64 {
		return regs, err
	}
	regs.ThreadPointer = callbacks.Word(k.extra.tls[:])
	arch.SetSyscall(&regs, int64(int32(callbacks.Word(k.extra.call[:]))))
	if k.extra.hasPAC {
		regs.PACMask = callbacks.Word(k.extra.pac[8:])
	}
	return regs, nil
}
