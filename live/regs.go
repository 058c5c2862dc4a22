package live

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// maxRegsSize is the size of user_regs_struct of both architectures, in bytes: 27 and 34 words.
const maxRegsSize = 34 * 8

// Register sets of PTRACE_GETREGSET (linux/elf.h).
const (
	ntPRStatus      = 1
	ntARMTLS        = 0x401
	ntARMSystemCall = 0x404
	ntARMPACMask    = 0x406
)

// armExtra holds registers of aarch64 outside of user_regs_struct.
type armExtra struct {
	tls    [8]byte
	call   [4]byte
	pac    [16]byte // mask for data, mask for code
	hasPAC bool
}

// readRegisters copies the registers of a stopped thread. They are decoded after the thread
// resumes.
func (t *tracer) readRegisters(k *task) {
	k.have, k.err = getRegs(k.tid, ntPRStatus, k.regs[:])
	if !arch.Of(t.arch).ApartRegs || k.err != nil {
		return
	}
	_, k.err = getRegs(k.tid, ntARMTLS, k.extra.tls[:])
	if _, err := getRegs(k.tid, ntARMSystemCall, k.extra.call[:]); err != nil {
		k.err = err
	}
	n, err := getRegs(k.tid, ntARMPACMask, k.extra.pac[:])
	k.extra.hasPAC = err == nil && n == len(k.extra.pac) // optional in the architecture
}

// The XSAVE area of x86-64 (Intel SDM, volume 1, 13.4), in bytes: the registers of x87 and SSE, a
// header, and those of AVX, AVX-512 and protection keys. Tiles of AMX come after that and are left
// out: code that computes with them changes other registers, too.
const (
	xsaveFOP    = 6   // the opcode and the addresses of the last instruction of x87, up to xsaveST
	xsaveST     = 32  // registers of x87, then of SSE
	xsaveHeader = 416 // a reserved part, and the header with the mask of saved parts
	xsaveAVX    = 576
	xsaveRoom   = 2816
)

// fpsimdRoom is the size of user_fpsimd_state of aarch64.
const fpsimdRoom = 528

// vectorSets has the set of floating-point and vector registers of each architecture.
var vectorSets = map[callbacks.Arch]struct {
	set   uintptr
	room  int
	clear func([]byte) // removes what is no register; or nil
}{
	callbacks.ArchX86_64:  {ntX86XState, xsaveRoom, clearXSAVE},
	callbacks.ArchAArch64: {ntPRFPReg, fpsimdRoom, nil},
}

func clearXSAVE(b []byte) {
	if len(b) >= xsaveAVX {
		clear(b[xsaveFOP:xsaveST])
		clear(b[xsaveHeader:xsaveAVX])
	}
}

// vectorRegisters copies the floating-point and vector registers of a stopped thread. Bytes outside
// of registers are zero.
func (t *tracer) vectorRegisters(k *task) []byte {
	v, ok := vectorSets[t.arch]
	if !ok {
		return nil
	}
	b := make([]byte, v.room)
	n, err := getRegs(k.tid, v.set, b)
	if err != nil {
		return nil
	}
	b = b[:n]
	if v.clear != nil {
		v.clear(b)
	}
	return b
}

func getRegs(tid int, set uintptr, b []byte) (int, error) {
	v := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	err := ptrace(unix.PTRACE_GETREGSET, tid, set, uintptr(unsafe.Pointer(&v)))
	return int(v.Len), err
}

// decodeRegisters decodes the registers that readRegisters copied.
func (k *task) decodeRegisters(a callbacks.Arch) (callbacks.Registers, error) {
	if k.err != nil {
		return callbacks.Registers{}, fmt.Errorf("registers of LWP %d: %w", k.tid, k.err)
	}
	regs, err := arch.FromUserRegs(a, k.regs[:k.have])
	if err != nil || !arch.Of(a).ApartRegs {
		return regs, err
	}
	regs.ThreadPointer = callbacks.Word(k.extra.tls[:])
	arch.SetSyscall(&regs, int64(int32(callbacks.Word(k.extra.call[:]))))
	if k.extra.hasPAC {
		regs.PACMask = callbacks.Word(k.extra.pac[8:])
	}
	return regs, nil
}
