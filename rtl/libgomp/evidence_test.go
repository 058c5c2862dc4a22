package libgomp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// witness gathers what is known of the threads of a core.
type witness struct {
	s   *subject
	un  *unwind.Unwinder
	sym *symbolize.Symbolizer
}

func newWitness(t *testing.T, s *subject) *witness {
	t.Helper()
	mods, err := s.core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	return &witness{s: s, un: unwind.New(s.core, s.core.Arch(), mods), sym: s.sym}
}

func system(f unwind.Frame) bool {
	return f.Module == nil || strings.HasPrefix(filepath.Base(f.Module.Path), "libc.")
}

// evidence is what is known of the thread with an LWP.
func (w *witness) evidence(t *testing.T, lwp int) *rtl.Evidence {
	t.Helper()
	regs, err := w.s.core.Registers(callbacks.LWP(uint64(lwp)))
	if err != nil {
		t.Fatal(err)
	}
	ev := &rtl.Evidence{Registers: &regs, Syscall: arch.SyscallName(regs.Arch, regs.Syscall)}
	if word, ok := arch.IsFutexWait(&regs); ok {
		ev.Futex = word
	}
	frames, err := w.un.Stack(regs, 100)
	if err != nil {
		t.Fatalf("LWP %d: %v", lwp, err)
	}
	for i, f := range frames {
		ef := rtl.EvidenceFrame{PC: f.PC, CFA: f.CFA, Owned: w.s.Owns(f.LookupPC())}
		if f.Module != nil {
			ef.Module = filepath.Base(f.Module.Path)
		}
		ev.Frames = append(ev.Frames, ef)
		if !ef.Owned && !system(f) {
			if i > 0 && ev.Frames[i-1].Owned {
				ev.Entry = w.entry(frames, i)
			}
			break
		}
	}
	return ev
}

// entry is the call that frame i made.
func (w *witness) entry(frames []unwind.Frame, i int) *rtl.Entry {
	name, by := w.called(frames[i].PC), "call instruction"
	if name == "" {
		name, _, _ = w.sym.Exported(frames[i-1].LookupPC())
		by = "symbol of the frame"
	}
	regs := frames[i].Registers
	return &rtl.Entry{
		Function: name, By: by, Return: frames[i].PC,
		StackLow: callbacks.At(frames[0].Registers.SP()), StackHigh: callbacks.At(frames[i-1].CFA),
		Arg: func(n int) (uint64, bool) {
			low, _, _ := w.un.FunctionBounds(frames[i].LookupPC())
			v, ok := arch.ArgBefore(regs.Arch, w.s.core, low, frames[i].PC, n)
			if !ok {
				return 0, false
			}
			a, err := v.Resolve(&regs, w.s.core)
			return a, err == nil
		},
	}
}

// called names the function that the call before ret leads to.
func (w *witness) called(ret uint64) string {
	a := w.s.core.Arch()
	call, ok := arch.CallBefore(a, w.s.core, ret)
	if !ok {
		return ""
	}
	if f, err := w.sym.Function(call.Target); err == nil && f.Low == call.Target {
		return f.Linkage
	}
	slot := call.Target
	if call.Kind == arch.CallDirect {
		if slot, ok = arch.PLTSlot(a, w.s.core, call.Target); !ok {
			return ""
		}
	}
	name, _ := w.sym.SlotSymbol(slot)
	return name
}

// TestBeginningMember has a worker in the runtime before its part of the region
// begins: no thread has arrived at a barrier of the team, so that it waits at none.
func TestBeginningMember(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock", Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})
	s := openCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	code, err := s.core.Symbol("GOMP_barrier", "")
	if err != nil || !s.Owns(code.Offset) {
		t.Fatal(code, err)
	}
	workers := 0
	for lwp, h := range s.threads {
		info, err := s.Thread(h)
		regs, e := s.core.Registers(callbacks.LWP(uint64(lwp)))
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		if info.ThreadNum == 0 {
			continue
		}
		workers++
		regs.Syscall = -1
		spins := rtl.Evidence{Registers: &regs, Frames: []rtl.EvidenceFrame{{PC: code.Offset + 1, Owned: true}}}
		if st, err := s.State(h, &spins); err != nil || st.State != rtl.StateOverhead || !strings.Contains(st.Evidence, "no thread has arrived") {
			t.Errorf("LWP %d: %+v, %v", lwp, st, err)
		}
	}
	if workers == 0 {
		t.Error("no workers")
	}
}
