package flow

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// TestEscape checks the value of a variable after a call that receives the address of the variable below it. The
// value is unknown, unless the size of the callee's writes or of the variable is known.
func TestEscape(t *testing.T) {
	code := codeAt{
		0x55, 0x48, 0x89, 0xe5, // push %rbp; mov %rsp,%rbp
		0x48, 0x83, 0xec, 0x20, // sub $0x20,%rsp
		0x48, 0x89, 0x7d, 0xf8, // mov %rdi,-8(%rbp)
		0x48, 0x8d, 0x7d, 0xf0, // lea -16(%rbp),%rdi
		0xe8, 0xeb, 0x0f, 0, 0, // call 0x2000
		0x48, 0x8b, 0x7d, 0xf8, // mov -8(%rbp),%rdi
		0xe8, 0xe2, 0x1f, 0, 0, // call 0x3000
		0xc9, 0xc3, // leave; ret
	}
	variable := func(size uint64) func(Frame, uint64) (uint64, uint64, bool) {
		return func(fr Frame, addr uint64) (uint64, uint64, bool) {
			base, ok := fr.Register(6)
			_, other := fr.Register(2)
			if !ok || other || base != fr.CFA-16 || addr != base-16 || fr.PC != fuzzBase+16 {
				t.Errorf("asked for %#x in a frame at %#x, rbp %#x (%v)", addr, fr.CFA, base, ok)
			}
			return addr, addr + size, size != 0
		}
	}
	for _, c := range []struct {
		name           string
		variable, most uint64
		known          bool
	}{{"nothing", 0, 0, false}, {"a variable of 8 bytes", 8, 0, true}, {"a variable of 16", 16, 0, false},
		{"writes of 8 bytes", 0, 8, true}, {"writes of 9", 8, 9, false}} {
		f, err := New(Config{
			Arch: callbacks.ArchX86_64, Mem: code, Extent: variable(c.variable),
			Returns: func(symbolic.Target) Result { return Result{Writes: c.most} },
		}, Range{fuzzBase, fuzzBase + uint64(len(code))})
		if err != nil {
			t.Fatal(err)
		}
		sites := f.Sites()
		if len(sites) != 2 || sites[1].Entry != 0x3000 {
			t.Fatalf("%s: the calls are %+v", c.name, sites)
		}
		if got := sites[1].Args[0].Kind == symbolic.KindArg; got != c.known {
			t.Errorf("%s is known: the other variable is known to be the argument: %v, want %v", c.name, got, c.known)
		}
	}
}
