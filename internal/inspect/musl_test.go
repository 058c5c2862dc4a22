package inspect_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMusl inspects a thread that waits in a C library with unknown structures: a warning names the library, and
// its memory is not read as glibc's.
func TestMusl(t *testing.T) {
	for module, says := range map[string]bool{"/lib/libc.so.6": false, "/lib/ld-musl-x86_64.so.1": true} {
		f := callbackstest.NewFake(callbacks.ArchX86_64)
		f.AddModule(&callbacks.Module{Path: module, Low: callbacks.Addr(0x7f0000000000),
			High: callbacks.Addr(0x7f0000100000)})
		f.Map(callbacks.Addr(0x1000), make([]byte, 0x1000))
		f.AddThread(7, 0x1800)
		if err := f.Put(callbacks.Addr(0x1800), 8, 0x1800, 0, 0x1800); err != nil {
			t.Fatal(err)
		}
		// futex(0x1100, FUTEX_WAIT_PRIVATE)
		asleep := callbacks.Registers{Syscall: 202, SyscallArgs: [6]uint64{0x1100, 128}}
		// ENOSYS, until the call is done
		asleep.Set(0, ^uint64(37))
		f.SetRegisters(7, asleep)
		in, err := inspect.New(inspect.Config{Target: f})
		if err != nil {
			t.Fatal(err)
		}
		waits := in.Facts(in.Picture(picture.ReportParts())).Waits
		const words = "the C library is musl: its mutexes and thread control blocks are not read"
		said := strings.Contains(strings.Join(in.Warnings(), "\n"), words)
		if said != says || len(waits) != 0 {
			t.Errorf("%s: %v, %v", module, waits, in.Warnings())
		}
	}
}
