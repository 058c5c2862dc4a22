package cxxabi_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
)

// FuzzException reads bytes as an exception, its type and the bases of that.
func FuzzException(f *testing.F) {
	for _, class := range []uint64{gnu, llvm, gnu | dependent} {
		m := memory(class, nil)
		e, types := make([]byte, 256), make([]byte, 1024)
		if m.ReadMemory(callbacks.Addr(header-0x60), e) != nil || m.ReadMemory(callbacks.Addr(info), types) != nil {
			f.Fatal("the memory is not there")
		}
		f.Add(e, types, "4Mine")
	}
	f.Fuzz(func(t *testing.T, e, types []byte, name string) {
		m := callbackstest.NewFake(callbacks.ArchX86_64)
		m.Map(callbacks.Addr(header-0x60), e)
		m.Map(callbacks.Addr(info), types)
		for _, at := range []uint64{header, object, 0, ^uint64(0)} {
			if x, ok := cxxabi.ReadException(m, at); ok && x.Type != 0 {
				cxxabi.TypeName(m, x.Type)
				cxxabi.Base(m, x.Type, "St9exception")
			}
		}
		cxxabi.Base(m, info, name)
		cxxabi.Virtual(m, info, len(name))
		cxxabi.Text(m, info)
		cxxabi.Value(m, name, info)
	})
}
