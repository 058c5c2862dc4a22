package corefile

import (
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func TestConformance(t *testing.T) {
	for _, mode := range []omptest.Mode{omptest.Kernel, omptest.Gcore} {
		t.Run(string(mode), func(t *testing.T) {
			c := open(t, dump(t, mode).Core, Options{})
			callbackstest.Run(t, c, callbackstest.Known{Symbol: "main", ThreadSymbol: "__kmp_gtid",
				Unmapped: callbacks.Addr(0x10000)})
		})
	}
}

// TestKindsOfExecutable compares a core of each kind with the program's own output.
func TestKindsOfExecutable(t *testing.T) {
	for name, flags := range map[string][]string{
		"pie": {"-pie"}, "non-pie": {"-no-pie"}, "static": {"-static"}, "static-pie": {"-static-pie"},
		"no build id": {"-Wl,--build-id=none"}, "one segment": {"-Wl,-z,noseparate-code"},
	} {
		for _, mode := range []string{"abort", "gcore"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				p := runPlain(t, mode, flags...)
				c := open(t, p.core, Options{})
				checkSymbols(t, c, p)
				checkThreads(t, c, p)
				mods, err := c.Modules()
				if unproven := name == "no build id"; (err != nil) != unproven || mods[0].File != p.exe ||
					mods[0].Image == nil {
					t.Errorf("the executable is %+v; %v", mods[0], err)
				}
				callbackstest.Run(t, c, callbackstest.Known{Symbol: "global_data", ThreadSymbol: "mine",
					Unmapped: callbacks.Addr(0x1000)})
			})
		}
	}
}

// checkSymbols compares addresses, and reads bytes that are in the core (data), only in the file
// (code and constants) and in neither (untouched zeros).
func checkSymbols(t *testing.T, c *Core, p *program) {
	t.Helper()
	for _, s := range []struct {
		name string
		at   uint64
		want string
	}{
		{"main", p.main, ""}, {"global_data", p.globalData, "M\x00\x00\x00"}, {"constant", p.constant, "constant"},
		{"untouched", p.untouched + 4096, "\x00\x00\x00\x00"},
	} {
		a, err := c.Symbol(s.name, "")
		if s.name == "untouched" {
			a = a.Add(4096)
		}
		b := make([]byte, max(1, len(s.want)))
		if err == nil {
			err = c.ReadMemory(a, b)
		}
		if err != nil || a.Offset != s.at || s.want != "" && string(b) != s.want {
			t.Errorf("%s at %v is %q, %v; want %q at %#x", s.name, a, b, err, s.want, s.at)
		}
	}
}

// checkThreads compares ids and the instances of a thread-local variable.
func checkThreads(t *testing.T, c *Core, p *program) {
	t.Helper()
	lwps, _ := c.ThreadIDs(callbacks.ThreadIDLWP)
	pthreads, err := c.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil || len(lwps) != len(p.threads) {
		t.Fatalf("%d threads, want %d (%v)", len(lwps), len(p.threads), err)
	}
	for _, want := range p.threads {
		i, ok := c.byLWP[want.lwp]
		if !ok || pthreads[i].Value != want.pthread {
			t.Errorf("LWP %d is %v, want %#x", want.lwp, pthreads[i], want.pthread)
		}
		for _, id := range []callbacks.ThreadID{callbacks.LWP(want.lwp), callbacks.Pthread(want.pthread)} {
			a, err := c.ThreadSymbol(id, "mine", "plain")
			var b [4]byte
			if err == nil {
				err = c.ReadMemory(a, b[:])
			}
			if got := int(binary.LittleEndian.Uint32(b[:])); err != nil || a.Offset != want.mineAt || got != want.mine {
				t.Errorf("mine of %v at %v is %d, %v; want %d at %#x", id, a, got, err, want.mine, want.mineAt)
			}
		}
	}
}

// TestThreadStorageOfLibraries checks a library that the program loads late. Only some threads have
// an instance of its variable.
func TestThreadStorageOfLibraries(t *testing.T) {
	lib := compileC(t, filepath.Join(t.TempDir(), "libloaded.so"), "-shared", "-fPIC", "testdata/library.c")
	for _, mode := range []string{"abort", "gcore"} {
		p := runPlain(t, mode, `-DLOAD="`+lib+`"`, "-ldl")
		c := open(t, p.core, Options{})
		touched := 0
		for _, th := range p.threads {
			a, err := c.ThreadSymbol(callbacks.LWP(th.lwp), "loaded_variable", "libloaded.so")
			if th.loadedAt == 0 {
				if !errors.Is(err, callbacks.ErrNoThreadStorage) {
					t.Errorf("LWP %d never used the variable: %v, %v; want ErrNoThreadStorage", th.lwp, a, err)
				}
				continue
			}
			touched++
			if err != nil || a.Offset != th.loadedAt {
				t.Errorf("variable of LWP %d at %v, %v; want %#x", th.lwp, a, err, th.loadedAt)
			}
		}
		if touched != 2 {
			t.Errorf("%d threads used the variable, want 2", touched)
		}
	}
}

// TestRunByLoader runs a program as an argument of the loader. The kernel then takes the loader for
// the executable.
func TestRunByLoader(t *testing.T) {
	exe := compileC(t, filepath.Join(t.TempDir(), "plain"), "testdata/plain.c")
	loader := open(t, runExe(t, exe, "abort").core, Options{})
	list, err := loader.Modules()
	if err != nil {
		t.Fatal(err)
	}
	ld := list[len(list)-2].File // before the vdso
	p := runCommand(t, "abort", ld, exe)
	p.exe = exe
	c := open(t, p.core, Options{})
	checkSymbols(t, c, p)
	checkThreads(t, c, p)
	if c.Info().Executable != exe {
		t.Errorf("the executable is %s, want %s", c.Info().Executable, exe)
	}
}

// TestSeparateSymbols strips an executable and keeps its symbols in a tree of
// debug files.
func TestSeparateSymbols(t *testing.T) {
	exe := compileC(t, filepath.Join(t.TempDir(), "plain"), "testdata/plain.c", "-Wl,--build-id=0x0123456789abcdef")
	dir := t.TempDir()
	copyFile(t, exe, filepath.Join(dir, ".build-id", "01", "23456789abcdef.debug"))
	if b, err := exec.Command("strip", exe).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, b)
	}
	p := runExe(t, exe, "abort")
	bare := open(t, p.core, Options{})
	if a, err := bare.Symbol("global_data", ""); !errors.Is(err, callbacks.ErrNoSymbol) {
		t.Errorf("a stripped executable has global_data at %v, %v", a, err)
	}
	c := open(t, p.core, Options{DebugDirs: []string{"/nowhere", dir}})
	checkSymbols(t, c, p)
	checkThreads(t, c, p)
}
