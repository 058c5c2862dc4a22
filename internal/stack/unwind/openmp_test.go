package unwind_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestOpenMPAsGdb checks that the stacks of OpenMP programs on stripped runtimes equal gdb's.
func TestOpenMPAsGdb(t *testing.T) {
	fast := []string{"-O3", "-fomit-frame-pointer"}
	for _, c := range []struct {
		program string
		runtime int
		mode    omptest.Mode
		flags   []string
		least   int // frames
	}{
		{"barrier", 14, omptest.Kernel, nil, 20},
		{"barrier", 19, omptest.Gcore, fast, 20},
		{"nested", 15, omptest.Kernel, fast, 30},
		{"taskwait", 16, omptest.Gcore, []string{"-O0"}, 20},
		{"critical", 16, omptest.Kernel, []string{"-O2", "-no-pie"}, 15},
		{"ordered", 14, omptest.Kernel, fast, 15},
		{"crash_task", 19, omptest.Kernel, []string{"-O2"}, 10},
		{"crash_forming", 16, omptest.Kernel, fast, 5},
		{"spinning", 15, omptest.Gcore, fast, 15},
		{"cxx_lambda", 19, omptest.Segv, []string{"-O1", "-g"}, 10},
		{"many", 16, omptest.Kernel, fast, 1000},
	} {
		rt := omptest.RuntimeOf(t, c.runtime)
		t.Run(c.program+" "+rt.Name+" "+string(c.mode), func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: c.program, Flags: c.flags, Strip: true})
			r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: c.mode})
			if n := compareWithGdb(t, exe, r.Core); n < c.least {
				t.Errorf("%d frames, want at least %d", n, c.least)
			}
		})
	}
}

// TestSpinningSnapshots takes several cores of running threads, so that they stop at arbitrary
// instructions.
func TestSpinningSnapshots(t *testing.T) {
	exe := compile(t, "clang-16", "spin.c", "-O2", "-fomit-frame-pointer", "-mavx2")
	for range 2 {
		dir := t.TempDir() // the cache takes another directory for another run
		core := omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Gcore, Args: []string{dir}}).Core
		compareWithGdb(t, exe, core)
	}
}

// withoutFile returns a copy of mods without the file of the module with name in its path.
func withoutFile(t *testing.T, mods []*callbacks.Module, name string) []*callbacks.Module {
	t.Helper()
	i := slices.IndexFunc(mods, func(m *callbacks.Module) bool { return strings.Contains(m.Path, name) })
	if i < 0 {
		t.Fatalf("no module %s", name)
	}
	m := *mods[i]
	m.Image, m.File, m.Err = nil, "", errors.New("file is not at hand")
	copied := slices.Clone(mods)
	copied[i] = &m
	return copied
}

// TestTablesFromMemory checks that a module without its file is unwound from the tables in the target's memory,
// and without them by frame pointers, with an error that names the module.
func TestTablesFromMemory(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Flags: []string{"-O2"}})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	o := open(t, r.Core)
	// corefile also serves pages of missing files while it has the files, as if all had been
	// dumped.
	u := unwind.New(o, o.Arch(), withoutFile(t, o.mods, "libomp"))
	bare := unwind.New(onlyCaptured{o, o.mods}, o.Arch(), withoutFile(t, o.mods, "libomp"))
	sawMissing := false
	for _, lwp := range o.lwps {
		regs := o.readRegisters(t, lwp)
		want, err := o.u.Stack(regs, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.Stack(regs, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, samePlace) {
			t.Errorf("%v: from memory %v, from the file %v", lwp, listPCs(got), listPCs(want))
		}
		if _, err = bare.Stack(regs, 0); err != nil {
			sawMissing = true
			if !errors.Is(err, unwind.ErrNoUnwindInfo) || !strings.Contains(err.Error(), "libomp.so") {
				t.Errorf("%v: %v, want no unwind information of libomp", lwp, err)
			}
		}
	}
	if !sawMissing {
		t.Error("no stack ended early without file and memory of libomp")
	}
}

// onlyCaptured is a core without the pages from libomp's file.
type onlyCaptured struct {
	callbacks.Memory
	mods []*callbacks.Module
}

func (m onlyCaptured) ReadMemory(a callbacks.Address, p []byte) error {
	for _, mod := range m.mods {
		if mod.Contains(a) && strings.Contains(mod.Path, "libomp") {
			return &callbacks.FaultError{Address: a, Err: callbacks.ErrNotCaptured}
		}
	}
	return m.Memory.ReadMemory(a, p)
}

func samePlace(a, b unwind.Frame) bool { return a.PC == b.PC && a.CFA == b.CFA }

func listPCs(frames []unwind.Frame) (list []uint64) {
	for _, f := range frames {
		list = append(list, f.PC)
	}
	return list
}

// TestConcurrentUse opens the modules from several goroutines at once.
func TestConcurrentUse(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "nested", Flags: []string{"-O2"}})
	o := open(t, omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Kernel}).Core)
	shared := unwind.New(o, o.Arch(), o.mods)
	var all sync.WaitGroup
	for range 4 {
		for _, lwp := range o.lwps {
			regs := o.readRegisters(t, lwp)
			want, err := o.u.Stack(regs, 0)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				got, err := shared.Stack(regs, 0)
				if err != nil || !slices.EqualFunc(got, want, samePlace) {
					t.Errorf("%v: %v, %v; want %v", lwp, listPCs(got), err, listPCs(want))
				}
			})
		}
	}
	all.Wait()
}

// TestFunctionBounds checks that every frame is within its function's range in the tables, and that
// addresses outside of modules have no function.
func TestFunctionBounds(t *testing.T) {
	exe := compile(t, "gcc", "stacks.c", "-O2")
	o := open(t, omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel, Args: []string{"vdso"}}).Core)
	seen := map[string]bool{}
	for _, lwp := range o.lwps {
		frames, _ := o.formatStack(t, lwp)
		for _, f := range frames {
			low, high, ok := o.u.FunctionBounds(f.LookupPC())
			if !ok || f.LookupPC() < low || f.LookupPC() >= high || high-low > 1<<20 {
				t.Errorf("%v: %#x is not in [%#x, %#x), %v", lwp, f.PC, low, high, ok)
			}
			seen[f.Module.Path] = true
		}
	}
	if !seen["[vdso]"] || len(seen) < 3 {
		t.Errorf("frames only in %v, want the executable, libc and the vdso", seen)
	}
	if low, high, ok := o.u.FunctionBounds(0x10); ok {
		t.Errorf("a function at 0x10: [%#x, %#x)", low, high)
	}
}

// TestFramePointers checks that code without any table and symbol is unwound by frame pointers, that such frames are
// marked as guessed, and that no register of an outer frame is wrongly known. With symbols, the code of the functions'
// starts gives the same frames.
func TestFramePointers(t *testing.T) {
	flags := []string{
		"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer", "-g0", "-O1",
	}
	for name, c := range map[string]struct {
		cc, flag string
		how      unwind.How
	}{
		"gcc, stripped": {"gcc", "-s", unwind.HowFramePointer}, "gcc": {"gcc", "-g0", unwind.HowCode},
		"clang, stripped": {"clang-16", "-s", unwind.HowFramePointer}, "clang": {"clang-16", "-g0", unwind.HowCode},
	} {
		t.Run(name, func(t *testing.T) {
			exe := compile(t, c.cc, "stacks.c", append(slices.Clone(flags), c.flag)...)
			with := omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel, Args: []string{"null"}})
			if c.how == unwind.HowCode { // without symbols, gdb takes data for return addresses
				compareWithGdb(t, exe, with.Core)
			}
			o := open(t, with.Core)
			found := 0
			for _, lwp := range o.lwps {
				frames, _ := o.formatStack(t, lwp)
				for _, f := range frames {
					if f.How == c.how {
						found++
						if c.how == unwind.HowFramePointer && f.Registers.Valid&(1<<3) != 0 {
							t.Errorf("rbx is taken for known at %#x", f.PC)
						}
					}
				}
			}
			if found < 20 {
				t.Errorf("%d frames by %v, want at least 20", found, c.how)
			}
		})
	}
}

// TestInterrupted checks which program counters are return addresses.
func TestInterrupted(t *testing.T) {
	exe := compile(t, "gcc", "stacks.c", "-O2")
	core := omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel, Args: []string{"leaf"}}).Core
	o := open(t, core)
	signals := 0
	for _, lwp := range o.lwps {
		frames, _ := o.formatStack(t, lwp)
		for i, f := range frames {
			exact := i == 0 || frames[i-1].Signal || f.Signal || i > 2 && i == len(frames)-1 && f.Exact
			if f.Exact != exact || f.LookupPC() != f.PC && exact || f.LookupPC() != f.PC-1 && !exact {
				t.Errorf("%v: frame %d: Exact %v, LookupPC %#x of %#x", lwp, i, f.Exact, f.LookupPC(), f.PC)
			}
			if i > 0 && frames[i-1].Signal != (f.How == unwind.HowSignal) {
				t.Errorf("%v: frame %d is found by %v after a trampoline: %v", lwp, i, f.How, frames[i-1].Signal)
			}
			if f.Signal {
				signals++
			}
		}
	}
	// raise, raise in raise on a signal stack, a leaf, and SIGWINCH.
	if signals != 5 {
		t.Errorf("%d signal frames, want 5", signals)
	}
}
