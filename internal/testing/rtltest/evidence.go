package rtltest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

func system(f unwind.Frame) bool {
	return f.Module == nil || strings.HasPrefix(filepath.Base(f.Module.Path), "libc.")
}

// Evidence returns the evidence on the thread with an LWP.
func (s *Subject) Evidence(t *testing.T, lwp int) *handles.Evidence {
	t.Helper()
	regs, err := s.Core.Registers(callbacks.LWP(uint64(lwp)))
	if err != nil {
		t.Fatal(err)
	}
	ev := &handles.Evidence{Registers: &regs, Syscall: arch.SyscallName(regs.Arch, regs.Syscall),
		Wakes: arch.IsFutexWake(&regs)}
	if word, ok := arch.IsFutexWait(&regs); ok {
		ev.Futex = word
	}
	frames, err := s.stacks.Stack(regs, 100)
	if err != nil {
		t.Fatalf("LWP %d: %v", lwp, err)
	}
	for i, f := range frames {
		ef := handles.EvidenceFrame{PC: f.PC, CFA: f.CFA, Owned: s.Owns(f.LookupPC())}
		if f.Module != nil {
			ef.Module = filepath.Base(f.Module.Path)
		}
		if name, low, ok := s.Names.Exported(f.LookupPC()); ok && ef.Owned {
			ef.Symbol, ef.Low = name, low
		}
		ev.Frames = append(ev.Frames, ef)
		if !ef.Owned && !system(f) {
			if i > 0 && ev.Frames[i-1].Owned {
				ev.Entry = s.entry(frames, i)
			}
			break
		}
	}
	return ev
}

// entry returns the call that frame i made.
func (s *Subject) entry(frames []unwind.Frame, i int) *handles.Entry {
	name, by := s.called(frames[i].PC), "call instruction"
	if name == "" {
		name, _, _ = s.Names.Exported(frames[i-1].LookupPC())
		by = "symbol of the frame"
	}
	regs := frames[i].Registers
	return &handles.Entry{
		Function: name, By: by, Return: frames[i].PC,
		StackLow: callbacks.Addr(frames[0].Registers.SP()), StackHigh: callbacks.Addr(frames[i-1].CFA),
		Arg: func(n int) (uint64, bool) {
			low, _, _ := s.stacks.FunctionBounds(frames[i].LookupPC())
			v, ok := arch.ArgBefore(regs.Arch, s.Core, low, frames[i].PC, n)
			if !ok {
				return 0, false
			}
			a, err := v.Resolve(&regs, s.Core)
			return a, err == nil
		},
	}
}

// called returns the name of the function that is called before ret.
func (s *Subject) called(ret uint64) string {
	a := s.Core.Arch()
	call, ok := arch.CallBefore(a, s.Core, ret)
	if !ok {
		return ""
	}
	if f, err := s.Names.Function(call.Target); err == nil && f.Low == call.Target {
		return f.Linkage
	}
	slot := call.Target
	if call.Kind == arch.CallDirect {
		if slot, ok = arch.PLTSlot(a, s.Core, call.Target); !ok {
			return ""
		}
	}
	name, _ := s.Names.SlotSymbol(slot)
	return name
}
