package report

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestThreadNumberOfAArch64 requires the thread-local number among the symbols of each runtime of LLVM in the cores for
// aarch64: its code finds the variable by a descriptor.
func TestThreadNumberOfAArch64(t *testing.T) {
	cores, err := filepath.Glob(filepath.Join(e2e.GoldenDir, "aarch64-llvm-*", "core.zst"))
	if err != nil || len(cores) < 5 {
		t.Fatalf("%d golden cores, %v", len(cores), err)
	}
	for _, core := range cores {
		name := filepath.Base(filepath.Dir(core))
		t.Run(name, func(t *testing.T) {
			files, err := omptest.UnpackGolden(e2e.GoldenDir, name, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "libomp.debug")
			status, _, errs := e2e.Output(t, "symbols", "--sysroot", files.Sysroot, "--exe", files.Exe, core, "-o", out)
			if status != cli.ExitOK {
				t.Fatalf("exit status %d: %s", status, errs)
			}
			f, err := elf.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			list, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(list, func(s elf.Symbol) bool { return s.Name == "__kmp_gtid" })
			if i < 0 {
				t.Fatalf("__kmp_gtid is not among the symbols: %s", errs)
			}
			if s := list[i]; elf.ST_TYPE(s.Info) != elf.STT_TLS || s.Value != 0 || s.Size != 4 { // the only one
				t.Errorf("__kmp_gtid is %+v", s)
			}
		})
	}
}
