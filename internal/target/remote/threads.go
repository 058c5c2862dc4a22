package remote

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// threads contains the threads of one stop.
type threads struct {
	mu    sync.Mutex
	asked bool
	list  []*ompdv1.NativeThread
	byLWP map[uint64]*ompdv1.NativeThread
	err   error // the debugger's
}

const (
	// stackAhead is the part of each stack that is requested with the list of threads: the frames of the
	// runtime and of the C library and a few of the user's.
	stackAhead = 2 * pageSize
	// wholeStack is the depth up to which a stack is requested completely, with the thread's control block of
	// the C library after it, of size threadBlock.
	wholeStack  = 16 * pageSize
	threadBlock = 2304
	// maxStacks bounds the number of stacks that are requested at once: 16 MiB.
	maxStacks = 2048
)

// all requests the threads, once per stop, and the tops of their stacks, which every picture reads.
func (b bound) all() (*threads, error) {
	s := &b.s.threads
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		return s, s.err
	}
	answers, err := b.ask(&ompdv1.Question{Question: &ompdv1.Question_Threads{Threads: &ompdv1.ThreadsQuestion{}}})
	if err != nil {
		return nil, err // of the connection, or of this call alone
	}
	s.asked, s.err = true, errorOf(answers[0], answers[0].GetThreads() != nil)
	s.list = answers[0].GetThreads().GetThreads()
	s.byLWP = make(map[uint64]*ompdv1.NativeThread, len(s.list))
	var stacks []span
	b.s.memory.mu.Lock()
	defer b.s.memory.mu.Unlock()
	for i, n := range s.list {
		s.byLWP[n.GetLwp()] = n
		if regs := b.t.registers(n); regs.SP() != 0 && i < maxStacks {
			stacks = append(stacks, b.s.memory.stack(regs.SP(), regs.ThreadPointer)...)
		}
	}
	if err := b.fetch(stacks...); err != nil {
		return nil, err
	}
	return s, s.err
}

// stack returns the part of a thread's stack to request; empty if it is cached.
func (m *memory) stack(sp, tp uint64) []span {
	base, size := pageOf(sp), uint64(stackAhead)
	if tp > sp && tp-sp < wholeStack {
		size = pageOf(tp+threadBlock) + pageSize - base
	}
	if m.pages[base] != nil || base+size < base {
		return nil
	}
	return []span{{base, size}}
}

// registers converts a thread's registers to this module's form.
func (t *Target) registers(n *ompdv1.NativeThread) callbacks.Registers {
	in := n.GetRegisters()
	r := callbacks.Registers{Arch: t.arch, ThreadPointer: in.GetThreadPointer(), Syscall: -1, PACMask: in.GetPacMask()}
	for number, v := range in.GetValues() {
		if number < callbacks.MaxRegister {
			r.Set(int(number), v)
		}
	}
	if in != nil && in.Syscall != nil {
		arch.SetSyscall(&r, in.GetSyscall())
	}
	return r
}

// ThreadIDs lists the threads in the debugger's order.
func (b bound) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	if kind != callbacks.ThreadIDLWP && kind != callbacks.ThreadIDPthread {
		return nil, fmt.Errorf("%v: %w", kind, callbacks.ErrUnsupportedKind)
	}
	all, err := b.all()
	if err != nil {
		return nil, err
	}
	out, known := make([]callbacks.ThreadID, len(all.list)), kind == callbacks.ThreadIDLWP
	for i, n := range all.list {
		if kind == callbacks.ThreadIDLWP {
			out[i] = callbacks.LWP(n.GetLwp())
			continue
		}
		out[i] = callbacks.Pthread(b.pthread(n))
		known = known || out[i].Value != 0
	}
	if !known {
		return nil, fmt.Errorf("%v: the debugger gives no pthread_t and no thread pointer: %w", kind,
			callbacks.ErrUnsupportedKind)
	}
	return out, nil
}

// pthread returns the pthread_t of a thread; 0 if unknown.
func (b bound) pthread(n *ompdv1.NativeThread) uint64 {
	tp := n.GetRegisters().GetThreadPointer()
	switch {
	case n.GetPthread() != 0 || tp == 0:
		return n.GetPthread()
	case arch.Of(b.t.arch).PthreadAtTP: // without reading the modules
		return tp
	}
	v, err := b.table().Pthread(tp)
	if err != nil {
		return 0
	}
	return v
}

// thread finds a thread by either identifier.
func (b bound) thread(id callbacks.ThreadID) (*ompdv1.NativeThread, error) {
	all, err := b.all()
	if err != nil {
		return nil, err
	}
	if n := all.byLWP[id.Value]; n != nil && id.Kind == callbacks.ThreadIDLWP {
		return n, nil
	}
	if id.Kind == callbacks.ThreadIDPthread && id.Value != 0 {
		for _, n := range all.list {
			if b.pthread(n) == id.Value {
				return n, nil
			}
		}
	}
	return nil, fmt.Errorf("%v: %w", id, callbacks.ErrNoThread)
}

// registers is a debugger's power to read registers.
type registers struct{ of bound }

// Registers returns the registers of thread id.
func (r registers) Registers(id callbacks.ThreadID) (callbacks.Registers, error) {
	if id.Kind != callbacks.ThreadIDLWP {
		return callbacks.Registers{}, fmt.Errorf("registers of %v: %w", id, callbacks.ErrUnsupportedKind)
	}
	n, err := r.of.thread(id)
	switch {
	case err != nil:
		return callbacks.Registers{}, fmt.Errorf("registers: %w", err)
	case n.GetRegisters() == nil:
		return callbacks.Registers{}, fmt.Errorf("registers of %v: the debugger has none, as of a thread that runs: %w",
			id, callbacks.Unavailable)
	}
	return r.of.t.registers(n), nil
}
