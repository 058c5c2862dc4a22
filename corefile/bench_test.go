package corefile

import (
	"debug/elf"
	"os"
	"runtime"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// openOnce opens a core, lists its modules and looks up a symbol, as every use of a core does
// first.
func openOnce(tb testing.TB, path string) *Core {
	c, err := Open(path, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := c.Symbol("malloc", ""); err != nil {
		tb.Fatal(err)
	}
	return c
}

// makeSparse adds a mapping of 4 GiB to a core; it is a hole in the file.
func makeSparse(tb testing.TB, path string) string {
	const size = 4 << 30
	e := newEdit(tb, path)
	end := uint64(1 << 30)
	e.loads = append(e.loads, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: end,
		Vaddr: 1 << 45, Filesz: size, Memsz: size})
	name := e.write(tb)
	if err := os.Truncate(name, int64(end+size)); err != nil {
		tb.Fatal(err)
	}
	return name
}

// TestBigCoreCostsNothing opens a core of over 4 GiB and reads all over it.
func TestBigCoreCostsNothing(t *testing.T) {
	name := makeSparse(t, runPlain(t, "abort").core)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := openOnce(t, name)
	defer c.Close()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("opening allocates %d bytes", n)
	}
	var b [64]byte
	for a := uint64(1 << 45); a < 1<<45+4<<30; a += 64 << 10 {
		if err := c.ReadMemory(callbacks.Addr(a), b[:]); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.HeapInuse > 64<<20 {
		t.Errorf("%d bytes of heap after reading a page of each 64 KiB", after.HeapInuse)
	}
}

func benchmarkOpen(b *testing.B, path string) {
	b.ReportAllocs()
	for b.Loop() {
		if err := openOnce(b, path).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenSmall(b *testing.B) {
	benchmarkOpen(b, omptest.Dump(b, omptest.Run{
		Exe: omptest.Compile(b, omptest.Build{Program: "barrier"}), Runtime: omptest.RuntimeOf(b, 16),
		Mode: omptest.Kernel,
	}).Core)
}

func BenchmarkOpenSparse4GB(b *testing.B) {
	benchmarkOpen(b, makeSparse(b, runPlain(b, "abort").core))
}

func BenchmarkRead(b *testing.B) {
	c := open(b, runPlain(b, "abort").core, Options{})
	a, err := c.Symbol("global_data", "")
	if err != nil {
		b.Fatal(err)
	}
	var p [8]byte
	for b.Loop() {
		if err := c.ReadMemory(a, p[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThreadSymbol(b *testing.B) {
	c := open(b, dump(b, omptest.Kernel).Core, Options{})
	id := callbacks.LWP(lwpsOf(b, c)[0])
	for b.Loop() {
		if _, err := c.ThreadSymbol(id, "__kmp_gtid", ""); err != nil {
			b.Fatal(err)
		}
	}
}
