package rtl_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

func TestPlace(t *testing.T) {
	libc, user := handles.EvidenceFrame{Module: "libc.so.6"}, handles.EvidenceFrame{Module: "a.out"}
	own := handles.EvidenceFrame{Module: "libomp.so.5", Owned: true}
	for _, c := range []struct {
		name string
		ev   *handles.Evidence
		want rtl.Place
	}{
		{"nothing known", nil, rtl.PlaceUnknown},
		{"no frames", &handles.Evidence{}, rtl.PlaceUnknown},
		{"user code", &handles.Evidence{Frames: []handles.EvidenceFrame{user, own}}, rtl.PlaceUser},
		{"user code in libc", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, libc, user}}, rtl.PlaceUser},
		{"a part of libc before glibc 2.34",
			&handles.Evidence{Frames: []handles.EvidenceFrame{{Module: "librt-2.31.so"}, own}},
			rtl.PlaceRuntime},
		{"the loader of musl", &handles.Evidence{Frames: []handles.EvidenceFrame{{Module: "ld-musl-x86_64.so.1"}, own}},
			rtl.PlaceRuntime},
		{"a tail call of libc", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, libc, own, user},
			Syscall: "clock_nanosleep", TailCalled: true, Entry: &handles.Entry{}}, rtl.PlaceUser},
		{"a thread of the program's in libc", &handles.Evidence{Frames: []handles.EvidenceFrame{libc}, Syscall: "pause",
			Outside: true}, rtl.PlaceOutside},
		{"the runtime's system call", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, own}, Syscall: "futex"},
			rtl.PlaceRuntime},
		{"runtime in libc", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, own, libc}}, rtl.PlaceRuntime},
		{"a stack that ends there", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, own}, Cut: true},
			rtl.PlaceCut},
		{"a thread's start", &handles.Evidence{Frames: []handles.EvidenceFrame{libc}, Outside: true}, rtl.PlaceOutside},
		{"a call", &handles.Evidence{Frames: []handles.EvidenceFrame{libc, own, user},
			Entry: &handles.Entry{Function: "__kmpc_barrier"}}, rtl.PlaceEntry},
	} {
		if got := rtl.PlaceOf(c.ev); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
