package symbolize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// benchmarkCold measures the first call of ask with a new symbolizer.
func benchmarkCold(b *testing.B, file string, ask func(*Symbolizer) error) {
	b.Helper()
	mods := []*callbacks.Module{loadModule(b, file, bias)}
	b.ReportAllocs()
	for b.Loop() {
		s := New(mods, Options{})
		if err := ask(s); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkColdLine measures the first source line of a small program.
func BenchmarkColdLine(b *testing.B) {
	for _, compiler := range []string{"gcc", "clang-16"} {
		b.Run(compiler, func(b *testing.B) {
			file := compile(b, "constructs.c", compiler, "-g", "-O1")
			pc := addressOf(b, file, "main") + 4
			benchmarkCold(b, file, func(s *Symbolizer) error { _, _, err := s.Line(pc); return err })
		})
	}
}

// BenchmarkColdCode measures the first frames of a small C program and of a C++ program with many
// headers.
func BenchmarkColdCode(b *testing.B) {
	for _, source := range []string{"constructs.c", "shapes.cc"} {
		b.Run(source, func(b *testing.B) {
			file := compile(b, source, "clang++-16", "-g", "-O2", "-xc++")
			pc := addressOf(b, file, "main") + 4
			benchmarkCold(b, file, func(s *Symbolizer) error { _, err := s.Code(pc); return err })
		})
	}
}

// BenchmarkColdLarge measures the first line and frames of a library of many units: 80 of gcc, with
// .debug_aranges, or 80 of clang, without.
func BenchmarkColdLarge(b *testing.B) {
	const units = 80
	for _, compiler := range []string{"g++", "clang++-16"} {
		object := compile(b, "shapes.cc", compiler, "-g", "-O2", "-fPIC", "-c")
		lib := object + ".so"
		link := []string{"-shared", "-Wl,--unresolved-symbols=ignore-all", "-o", lib}
		for i := range units {
			copied := fmt.Sprintf("%s.%d.o", object, i)
			runTool(b, "objcopy", fmt.Sprintf("--prefix-symbols=unit%d_", i), object, copied)
			link = append(link, copied)
		}
		runTool(b, compiler, link...)
		pc := codeAddresses(b, lib, 2)[1] + bias
		b.Run(compiler+"/line", func(b *testing.B) {
			benchmarkCold(b, lib, func(s *Symbolizer) error { _, _, err := s.Line(pc); return err })
		})
		b.Run(compiler+"/code", func(b *testing.B) {
			benchmarkCold(b, lib, func(s *Symbolizer) error { _, err := s.Code(pc); return err })
		})
	}
}

// BenchmarkColdFunction measures the first name in the C library and in the largest available
// library.
func BenchmarkColdFunction(b *testing.B) {
	for _, lib := range []string{"libc.so.6", "libstdc++.so.6", "libLLVM-16.so.1"} {
		b.Run(lib, func(b *testing.B) {
			file := strings.TrimSpace(runTool(b, "gcc", "-print-file-name="+lib))
			pc := codeAddresses(b, file, 2)[1] + bias
			benchmarkCold(b, file, func(s *Symbolizer) error { _, err := s.Function(pc); return err })
		})
	}
}

// BenchmarkWarm measures repeated questions about new addresses and about the same ones.
func BenchmarkWarm(b *testing.B) {
	file := compile(b, "shapes.cc", "clang++-16", "-g", "-O2")
	pcs := codeAddresses(b, file, 1000)
	warm := func(name string, ask func(s *Symbolizer, pc uint64) error) {
		b.Run(name, func(b *testing.B) {
			s := openSymbolizer(b, file)
			if err := ask(s, pcs[0]+bias); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := ask(s, pcs[i%len(pcs)]+bias); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	warm("code", func(s *Symbolizer, pc uint64) error { _, err := s.Code(pc); return err })
	warm("function", func(s *Symbolizer, pc uint64) error { _, err := s.Function(pc); return err })
	warm("line", func(s *Symbolizer, pc uint64) error { _, _, err := s.Line(pc); return err })
}
