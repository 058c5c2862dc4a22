package unwind_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// calledFunction returns the address that the call before the return address ret reaches, through a
// PLT or a slot.
func (o *opened) calledFunction(ret uint64) uint64 {
	c, ok := arch.CallBefore(o.Arch(), o, ret)
	if !ok || c.Kind == arch.CallRegister {
		return 0
	}
	slot, indirect := c.Target, c.Kind == arch.CallSlot
	if !indirect {
		if slot, indirect = arch.PLTSlot(o.Arch(), o, c.Target); !indirect {
			return c.Target
		}
	}
	var p [8]byte
	if o.ReadMemory(callbacks.Addr(slot), p[:]) != nil {
		return 0
	}
	return callbacks.Word(p[:])
}

// criticalLocks returns the names of the locks of an executable's critical sections, by address in the
// program.
func (o *opened) criticalLocks(t *testing.T) map[uint64]string {
	t.Helper()
	f, err := elfx.Open(o.mods[0].Image)
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	locks := map[uint64]string{}
	for _, s := range syms {
		if strings.HasPrefix(s.Name, ".gomp_critical_user_") {
			locks[s.Value+o.mods[0].Bias] = s.Name
		}
	}
	return locks
}

// TestArgumentOfCall checks that the lock of a waiting thread is found in the code before its call
// of __kmpc_critical, for each way to compile it.
func TestArgumentOfCall(t *testing.T) {
	for name, flags := range map[string][]string{
		"O0": {"-O0"}, "O1": {"-O1"}, "O3": {"-O3", "-fomit-frame-pointer"}, "no-plt": {"-O2", "-fno-plt"},
		"no-pie": {"-O2", "-no-pie"},
		"Os":     {"-Os", "-fcf-protection=full"},
	} {
		t.Run(name, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "critical", Flags: flags})
			o := open(t, omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16),
				Mode: omptest.Kernel}).Core)
			entry, err := o.Symbol("__kmpc_critical", "")
			if err != nil {
				t.Fatal(err)
			}
			locks, found := o.criticalLocks(t), map[string]bool{}
			for _, lwp := range o.lwps {
				frames, _ := o.formatStack(t, lwp)
				i := slices.IndexFunc(frames,
					func(f unwind.Frame) bool { return o.calledFunction(f.PC) == entry.Offset })
				if i < 0 {
					continue
				}
				low, _, _ := o.u.FunctionBounds(frames[i].LookupPC())
				v, ok := arch.ArgBefore(o.Arch(), o, low, frames[i].PC, 2)
				if !ok {
					t.Errorf("%v: lock not known", lwp)
					continue
				}
				lock, err := v.Resolve(&frames[i].Registers, o)
				if err != nil {
					t.Errorf("%v: %v", lwp, err)
				}
				found[locks[lock]] = true
			}
			want := map[string]bool{".gomp_critical_user_.var": true, ".gomp_critical_user_ledger.var": true}
			if !maps.Equal(found, want) {
				t.Errorf("locks %v, want %v", found, want)
			}
		})
	}
}
