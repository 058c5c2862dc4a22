package delve

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func program(t testing.TB) omptest.Run {
	return omptest.Run{Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live}
}

func open(t testing.TB, socket string) *Process {
	t.Helper()
	p, err := Open(t.Context(), socket, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func quiet() {}

// TestLaws runs the conformance kit on a Go program and on a program without Go, in which modules are found by
// other means.
func TestLaws(t *testing.T) {
	nested := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Live}
	for name, tt := range map[string]struct {
		run    omptest.Run
		symbol string
	}{"go": {program(t), "GOMP_parallel"}, "c": {nested, "__kmp_thread_pool"}} {
		t.Run(name, func(t *testing.T) {
			h := omptest.StartUnderDelve(t, tt.run)
			pause, err := open(t, h.Socket).Look(t.Context(), quiet, func(tg callbacks.Target) error {
				callbackstest.Run(t, tg, callbackstest.Known{Symbol: tt.symbol, ThreadSymbol: "errno",
					Unmapped: callbacks.Addr(0x1000)})
				if mods, err := tg.(callbacks.ModuleLister).Modules(); err != nil || mods[0].File != h.Exe {
					t.Errorf("%v, %v", mods[0], err)
				}
				return nil
			})
			if err != nil || !pause.Halted || pause.Threads < len(h.Truth.Program.LWPs) {
				t.Errorf("%+v, %v", pause, err)
			}
		})
	}
}

// TestMemory reads the first bytes of the executable, and across their start.
func TestMemory(t *testing.T) {
	h := omptest.StartUnderDelve(t, program(t))
	_, err := open(t, h.Socket).Look(t.Context(), quiet, func(tg callbacks.Target) error {
		mods, _ := tg.(callbacks.ModuleLister).Modules()
		last := mods[0].Low // headers of the executable
		p := make([]byte, 4)
		if err := tg.ReadMemory(last, p); err != nil || string(p) != "\x7fELF" {
			t.Errorf("%q, %v", p, err)
		}
		var fault *callbacks.FaultError
		if err := tg.ReadMemory(last.Add(^uint64(7)), make([]byte, 16)); !errors.As(err, &fault) ||
			fault.Address != last.Add(^uint64(7)) {
			t.Errorf("before it: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOver checks that after a look, only memory that was read in it can be read.
func TestOver(t *testing.T) {
	h := omptest.StartUnderDelve(t, program(t))
	var tg callbacks.Target
	var at callbacks.Address
	_, err := open(t, h.Socket).Look(t.Context(), quiet, func(now callbacks.Target) error {
		tg = now
		regs, err := now.(callbacks.RegisterReader).Registers(callbacks.LWP(uint64(h.Truth.Program.PID)))
		at = callbacks.Addr(regs.SP())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tg.ReadMemory(at, make([]byte, 64)); err != nil {
		t.Errorf("what was read in the look: %v", err)
	}
	if err := tg.ReadMemory(callbacks.Addr(0x1000), make([]byte, 64)); !errors.Is(err, callbacks.StaleHandle) {
		t.Errorf("what was not: %v", err)
	}
}

// TestRan resumes the program during a look.
func TestRan(t *testing.T) {
	h := omptest.StartUnderDelve(t, program(t))
	p, second := open(t, h.Socket), open(t, h.Socket)
	_, err := p.Look(t.Context(), quiet, func(callbacks.Target) error { return second.resume(t.Context()) })
	if !errors.Is(err, ErrRan) {
		t.Error(err)
	}
}

// TestSingleClient connects to a Delve that would kill the program at the end of its
// only connection.
func TestSingleClient(t *testing.T) {
	p := omptest.Start(t, program(t))
	socket := omptest.AttachDelve(t, p)
	if _, err := Open(t.Context(), socket, Options{}); !errors.Is(err, ErrSingleClient) {
		t.Fatal(err)
	}
	again := omptest.AttachDelve(t, p, "--accept-multiclient")
	before, err := open(t, again).Look(t.Context(), quiet, func(callbacks.Target) error { return nil })
	if err != nil || before.Halted {
		t.Errorf("the program is gone: %+v, %v", before, err)
	}
}

// TestTimeout checks the time limit for a server that never answers.
func TestTimeout(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "deaf"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
	}()
	c, err := dial(t.Context(), l.Addr().String(), callTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.timeout = time.Millisecond // for an answer; the connection may take longer
	if err := (&Process{conn: c}).greet(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, l.Addr().String(), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
