package corefile

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// Offsets in struct elf_prstatus, equal on all 64-bit Linux systems.
const (
	statusSignal = 12
	statusLWP    = 32
	statusRegs   = 112
)

// sigSTOP is the signal with which gcore stops a program.
const sigSTOP = 19

// thread is a thread of the core.
type thread struct {
	lwp    uint64
	signal int
	regs   callbacks.Registers
	// vectors are the floating-point and vector registers.
	vectors noteRange
}

// readThreads decodes the notes of all threads.
func (c *Core) readThreads(size int64) error {
	c.byLWP = make(map[uint64]int, len(c.notes.threads))
	for _, n := range c.notes.threads {
		t, err := decodeThread(c.arch, n)
		if err != nil {
			c.warn("a thread could not be read: %v", err)
			continue
		}
		if _, twice := c.byLWP[t.lwp]; twice {
			c.warn("the core has LWP %d twice; the second is ignored", t.lwp)
			continue
		}
		c.byLWP[t.lwp] = len(c.threads)
		c.threads = append(c.threads, t)
	}
	if len(c.threads) > 0 {
		return nil
	}
	if c.notes.lost {
		return fmt.Errorf("%s: %w: it has %d bytes, which end before the threads' registers: %s", c.path, ErrTruncated,
			size, fixTruncated)
	}
	return fmt.Errorf("%s: %w: it has no threads (no NT_PRSTATUS note): %s", c.path, ErrNotCore, fixNotCore)
}

// separateThreads removes the thread pointers of threads that have that of another one.
func (c *Core) separateThreads() {
	pointers := make([]uint64, len(c.threads))
	for i := range c.threads {
		pointers[i] = c.threads[i].regs.ThreadPointer
	}
	id := func(i int) uint64 { return c.threads[i].lwp }
	for _, i := range c.mods.Borrowers(modules.SharedPointers(pointers), id) {
		c.threads[i].regs.ThreadPointer = 0
	}
}

// decodeThread decodes NT_PRSTATUS and the additional notes of aarch64.
func decodeThread(a callbacks.Arch, n threadNotes) (thread, error) {
	if len(n.status) < statusRegs {
		return thread{}, fmt.Errorf("NT_PRSTATUS has %d bytes", len(n.status))
	}
	t := thread{
		lwp:     callbacks.Word(n.status[statusLWP : statusLWP+4]),
		signal:  int(callbacks.Word(n.status[statusSignal : statusSignal+2])),
		vectors: n.vectors,
	}
	var err error
	if t.regs, err = arch.FromUserRegs(a, n.status[statusRegs:]); err != nil {
		return t, fmt.Errorf("LWP %d: %w", t.lwp, err)
	}
	if len(n.tls) >= 8 {
		t.regs.ThreadPointer = callbacks.Word(n.tls[:8])
	}
	if len(n.syscall) >= 4 {
		arch.SetSyscall(&t.regs, int64(int32(callbacks.Word(n.syscall[:4]))))
	}
	if len(n.pa) >= 16 { // data mask, then the mask for code addresses
		t.regs.PACMask = callbacks.Word(n.pa[8:16])
	}
	return t, nil
}

// ThreadIDs returns the threads in the core's order; the kernel writes the thread with the fatal
// signal first. A thread that was just created has pthread_t 0.
func (c *Core) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	list := make([]callbacks.ThreadID, len(c.threads))
	for i := range c.threads {
		t := &c.threads[i]
		switch kind {
		case callbacks.ThreadIDLWP:
			list[i] = callbacks.LWP(t.lwp)
		case callbacks.ThreadIDPthread:
			v, err := c.mods.Pthread(t.regs.ThreadPointer)
			if err != nil {
				return nil, err
			}
			list[i] = callbacks.Pthread(v)
		default:
			return nil, fmt.Errorf("%v: %w", kind, callbacks.ErrUnsupportedKind)
		}
	}
	return list, nil
}

// Registers returns the registers of a thread, which must be of kind LWP.
func (c *Core) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	one, err := c.findThread(t)
	if err != nil {
		return callbacks.Registers{}, fmt.Errorf("registers of %w", err)
	}
	return one.regs, nil
}

// findThread returns a thread by its identifier, which must be of kind LWP.
func (c *Core) findThread(t callbacks.ThreadID) (*thread, error) {
	if t.Kind != callbacks.ThreadIDLWP {
		return nil, fmt.Errorf("%v: %w", t, callbacks.ErrUnsupportedKind)
	}
	i, ok := c.byLWP[t.Value]
	if !ok {
		return nil, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
	}
	return &c.threads[i], nil
}

// errNoVectors is the error for a thread whose floating-point and vector registers the core lacks, or which is in a
// system call.
var errNoVectors = errors.New("not known")

// VectorRegisters returns the floating-point and vector registers of a thread, which must be of kind LWP.
func (c *Core) VectorRegisters(t callbacks.ThreadID) ([]byte, error) {
	one, err := c.findThread(t)
	if err != nil {
		return nil, fmt.Errorf("vector registers of %w", err)
	}
	if one.regs.Syscall >= 0 || one.vectors.n == 0 || one.vectors.n > maxDesc {
		return nil, fmt.Errorf("vector registers of %v: %w", t, errNoVectors)
	}
	b := make([]byte, one.vectors.n)
	if _, err := c.file.ReadAt(b, int64(one.vectors.off)); err != nil {
		return nil, fmt.Errorf("vector registers of %v: %w", t, err)
	}
	return b, nil
}

// fillInfo fills in the result of Info.
func (c *Core) fillInfo() {
	n := c.notes
	c.info.Producer = "unknown"
	switch {
	case n.own:
		c.info.Producer, c.info.Recording = ownOwner, n.recording
		c.info.Moment = n.moment
	case n.named && n.first == ntPRSTATUS:
		c.info.Producer = "kernel"
	case n.named && n.first == ntPRPSINFO:
		c.info.Producer = "gcore"
	}
	if n.process != nil {
		c.info.PID, c.info.ProcessName, c.info.Args = n.process.pid, n.process.name, n.process.args
		c.info.Forked = n.process.forked
	}
	c.info.Executable = c.mods.Main().Path
	c.info.Signal = c.threads[0].signal
	if s := n.signal; s != nil && s.Signal != 0 {
		c.info.Signal, c.info.SignalCode, c.info.HasCode = s.Signal, s.Code, true
		c.info.HasFault = s.HasAddress
		if c.info.HasFault {
			c.info.FaultAddress = callbacks.Addr(s.Address)
		}
	}
	if c.info.Signal == sigSTOP && c.info.Producer == "gcore" {
		c.info.Signal, c.info.SignalCode, c.info.HasCode = 0, 0, false // it was alive
	}
	if c.info.Signal != 0 {
		c.info.CrashedLWP = c.threads[0].lwp
	}
	if n.auxv == nil {
		c.warn("the core has no auxiliary vector; the executable and its libraries may not be found")
	}
}

// maxWarnings bounds the number of warnings for heavily damaged cores.
const maxWarnings = 100

// warn adds a warning to the result of Info.
func (c *Core) warn(format string, args ...any) {
	if len(c.info.Warnings) < maxWarnings {
		c.info.Warnings = append(c.info.Warnings, fmt.Sprintf(format, args...))
	}
}
