package rtl_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

func TestPlace(t *testing.T) {
	libc, user := rtl.EvidenceFrame{Module: "libc.so.6"}, rtl.EvidenceFrame{Module: "a.out"}
	own := rtl.EvidenceFrame{Module: "libomp.so.5", Owned: true}
	for _, c := range []struct {
		name string
		ev   *rtl.Evidence
		want rtl.Place
	}{
		{"nothing known", nil, rtl.PlaceUnknown},
		{"no frames", &rtl.Evidence{}, rtl.PlaceUnknown},
		{"user code", &rtl.Evidence{Frames: []rtl.EvidenceFrame{user, own}}, rtl.PlaceUser},
		{"user code in libc", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, libc, user}}, rtl.PlaceUser},
		{"a part of libc before glibc 2.34", &rtl.Evidence{Frames: []rtl.EvidenceFrame{{Module: "librt-2.31.so"}, own}},
			rtl.PlaceRuntime},
		{"the loader of musl", &rtl.Evidence{Frames: []rtl.EvidenceFrame{{Module: "ld-musl-x86_64.so.1"}, own}},
			rtl.PlaceRuntime},
		{"a tail call of libc", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, libc, own, user},
			Syscall: "clock_nanosleep", TailCalled: true, Entry: &rtl.Entry{}}, rtl.PlaceUser},
		{"a thread of the program's in libc", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc}, Syscall: "pause",
			Outside: true}, rtl.PlaceOutside},
		{"the runtime's system call", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, own}, Syscall: "futex"},
			rtl.PlaceRuntime},
		{"runtime in libc", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, own, libc}}, rtl.PlaceRuntime},
		{"a stack that ends there", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, own}, Cut: true}, rtl.PlaceCut},
		{"a thread's start", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc}, Outside: true}, rtl.PlaceOutside},
		{"a call", &rtl.Evidence{Frames: []rtl.EvidenceFrame{libc, own, user},
			Entry: &rtl.Entry{Function: "__kmpc_barrier"}}, rtl.PlaceEntry},
	} {
		if got := c.ev.Place(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
