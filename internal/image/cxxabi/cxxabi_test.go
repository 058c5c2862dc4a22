package cxxabi_test

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
)

const (
	gnu       = 0x474e5543432b2b00
	llvm      = 0x434c4e47432b2b00
	header    = 0x10060
	object    = header + 32
	info      = 0x20000
	dependent = 1
)

// memory is a target with an exception at header of the class of info, which has base classes. change replaces
// words around the header, by offset.
func memory(class uint64, change map[int]uint64) *callbackstest.Fake {
	f := callbackstest.NewFake(callbacks.ArchX86_64)
	b := make([]byte, 256)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[0x60+off:], v) }
	put(0, class)
	put(24, 0x7ffe1000)
	put(-80, info)
	put(-40, 1)
	put(-96, 1)
	put(-88, 1)
	for off, v := range change {
		put(off, v)
	}
	f.Map(callbacks.Addr(header-0x60), b)
	types := make([]byte, 1024)
	word := func(at int, v uint64) { binary.LittleEndian.PutUint64(types[at:], v) }
	for at, name := range map[int]string{0x200: "4Mine", 0x220: "St9exception", 0x240: "4Part",
		0x280: "N10__cxxabiv121__vmi_class_type_infoE", 0x2c0: "N10__cxxabiv117__class_type_infoE"} {
		copy(types[at:], name)
	}
	word(0x00, info+0x100) // Mine, with two bases
	word(0x08, info+0x200)
	word(0x10, 2<<32)
	word(0x18, info+0x60)
	word(0x20, 2)
	word(0x28, info+0x40)
	word(0x30, 16<<8|2)
	word(0x40, info+0x120) // std::exception
	word(0x48, info+0x220)
	word(0x60, info+0x120) // Part
	word(0x68, info+0x240)
	word(0xf8, info+0x140) // the type of Mine's type_info
	word(0x118, info+0x160)
	word(0x148, info+0x280)
	word(0x168, info+0x2c0)
	f.Map(callbacks.Addr(info), types)
	return f
}

// TestAt reads an exception, and memory that only resembles one.
func TestAt(t *testing.T) {
	for _, c := range []struct {
		name   string
		class  uint64
		change map[int]uint64
		want   cxxabi.Exception
	}{
		{"GNU's", gnu, nil, cxxabi.Exception{Header: header, Class: "GNUCC++", Object: object, Type: info,
			Stop: 0x7ffe1000}},
		{"LLVM's", llvm, nil, cxxabi.Exception{Header: header, Class: "CLNGC++", Object: object, Type: info,
			Stop: 0x7ffe1000}},
		{"GNU's, of another", gnu + dependent, map[int]uint64{-80: object, 0: gnu + dependent},
			cxxabi.Exception{Header: header, Class: "GNUCC++", Object: object, Type: object, Stop: 0x7ffe1000}},
		{"of another language", 0x4d4f5a0052555354, nil,
			cxxabi.Exception{Header: header, Class: "MOZ RUST", Foreign: true, Stop: 0x7ffe1000}},
		{"freed", gnu, map[int]uint64{-96: 0}, cxxabi.Exception{}},
		{"freed, what was a count is a pointer", gnu, map[int]uint64{-96: 0x7f123456}, cxxabi.Exception{}},
		{"nobody handles it", gnu, map[int]uint64{-40: 0}, cxxabi.Exception{}},
		{"a number", 0x2050550000, nil, cxxabi.Exception{}},
		{"zeros", 0, nil, cxxabi.Exception{}},
	} {
		got, ok := cxxabi.ReadException(memory(c.class, c.change), header)
		if got != c.want || ok != (c.want.Header != 0) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, ok, c.want)
		}
	}
	if _, ok := cxxabi.ReadException(memory(gnu, nil), header+8); ok {
		t.Error("an address that no header has")
	}
}

// TestTypes checks names and base classes.
func TestTypes(t *testing.T) {
	m := memory(gnu, nil)
	if name, err := cxxabi.TypeName(m, info); name != "4Mine" || err != nil {
		t.Error(name, err)
	}
	if off, ok := cxxabi.Base(m, info, "St9exception"); off != 16 || !ok {
		t.Errorf("std::exception at %d, %v; want 16", off, ok)
	}
	if off, ok := cxxabi.Base(m, info, "4Part"); off != 0 || !ok {
		t.Errorf("Part at %d, %v; want 0", off, ok)
	}
	if _, ok := cxxabi.Base(m, info, "St13runtime_error"); ok {
		t.Error("a base class that it has not")
	}
	if _, err := cxxabi.TypeName(m, 0x50000); err == nil {
		t.Error("the name of a type that is not there")
	}
}
