package arch_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// BenchmarkArgBefore finds an argument of a call in a small function.
func BenchmarkArgBefore(b *testing.B) {
	p := build(b, compilers(b)[0], "args.c", "-shared", "-fPIC", "-O2")
	ret := p.returns(b, "address")[0]
	for b.Loop() {
		if _, ok := arch.ArgBefore(callbacks.ArchX86_64, p.mem, p.syms["address"].Value, ret, 0); !ok {
			b.Fatal("argument not known")
		}
	}
}
