package callbackstest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// small returns a target with two threads and a module.
func small() *Fake {
	f := NewFake(callbacks.ArchX86_64)
	f.Map(callbacks.Addr(0x1000), make([]byte, 0x2000))
	f.Map(callbacks.Addr(0x5000), make([]byte, 100))
	f.AddThread(11, 0x1100)
	f.AddThread(12, 0x1200)
	f.Define("counter", "/bin/prog", callbacks.Addr(0x1010))
	f.DefineThread(callbacks.LWP(11), "mine", "/bin/prog", callbacks.Addr(0x5000))
	f.DefineThread(callbacks.Pthread(0x1200), "mine", "/bin/prog", callbacks.Addr(0x5008))
	f.AddModule(&callbacks.Module{Path: "/bin/prog", Main: true, Low: callbacks.Addr(0x1000),
		High: callbacks.Addr(0x3000),
		Err:  errors.New("made of bytes")})
	return f
}

// failing is a Fake whose Modules returns the modules' errors.
type failing struct{ *Fake }

func (f failing) Modules() ([]*callbacks.Module, error) {
	list, _ := f.Fake.Modules()
	return list, list[0].Err
}

func TestFakePassesTheKit(t *testing.T) {
	Run(t, failing{small()}, Known{Symbol: "counter", ThreadSymbol: "mine", Unmapped: callbacks.Addr(0x4000)})
}

func TestFakeMemory(t *testing.T) {
	f := small()
	if err := f.Put(callbacks.Addr(0x1ffe), 4, 0x04030201, 0x08070605); err != nil {
		t.Fatal(err)
	}
	f.Map(callbacks.Addr(0x2000), []byte{0xaa, 0xbb}) // in the middle of the first block
	p := make([]byte, 8)
	if err := f.ReadMemory(callbacks.Addr(0x1ffe), p); err != nil ||
		!bytes.Equal(p, []byte{1, 2, 0xaa, 0xbb, 5, 6, 7, 8}) {
		t.Errorf("read %x, %v", p, err)
	}
	var fault *callbacks.FaultError
	if err := f.Put(callbacks.Addr(0x5060), 8, 1); !errors.As(err, &fault) || fault.Address != callbacks.Addr(0x5064) {
		t.Errorf("Put over the end: %v", err)
	}
}

func TestFakeThreadStorage(t *testing.T) {
	f := small()
	f.AddThread(13, 0x1300)
	if _, err := f.ThreadSymbol(callbacks.LWP(13), "mine", ""); !errors.Is(err, callbacks.ErrNoThreadStorage) {
		t.Errorf("a thread without instance: %v, want ErrNoThreadStorage", err)
	}
	if a, err := f.ThreadSymbol(callbacks.LWP(12), "mine", "prog"); a != callbacks.Addr(0x5008) {
		t.Errorf("mine of LWP 12 is at %v, %v", a, err)
	}
	var r callbacks.Registers
	r.SetPC(0x1234)
	f.SetRegisters(12, r)
	if got, err := f.Registers(callbacks.LWP(12)); err != nil || got.PC() != 0x1234 ||
		got.Arch != callbacks.ArchX86_64 {
		t.Errorf("registers %+v, %v", got, err)
	}
}
