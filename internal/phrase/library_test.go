package phrase_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestLibraryCall checks which frames belong to one call of the C++ standard library.
func TestLibraryCall(t *testing.T) {
	user := picture.Frame{Kind: picture.FrameUser, Function: "work", File: "/src/w.cc", Line: 7}
	guard := picture.Frame{Kind: picture.FrameUser, Function: "std::lock_guard<std::mutex>::lock_guard(std::mutex&)",
		File: "/usr/include/c++/12/bits/std_mutex.h", Line: 229, Module: "/bin/prog"}
	gthread := picture.Frame{Kind: picture.FrameUser, Function: "int std::swap(int)", Line: 749,
		File: "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h"}
	libc := picture.Frame{Kind: picture.FrameSystem, Function: "pthread_mutex_lock", Module: "libc.so.6"}
	shared := picture.Frame{Kind: picture.FrameSystem, Function: "execute_native_thread_routine",
		Module: "libstdc++.so.6"}
	pseudo := picture.Frame{Kind: picture.FramePseudo, Function: "<OMP-lock_wait>"}
	forked := guard
	forked.LWP = 4
	for _, c := range []struct {
		name string
		fs   []picture.Frame
		i, n int
	}{
		{"a mutex", []picture.Frame{libc, gthread, guard, user}, 0, 3},
		{"without frames of the C library", []picture.Frame{gthread, guard, user}, 0, 2},
		{"within the stack", []picture.Frame{user, guard, user}, 1, 1},
		{"outermost", []picture.Frame{user, guard, shared}, 1, 2},
		{"the C library alone", []picture.Frame{libc, user}, 0, 0},
		{"the C library within the stack", []picture.Frame{user, libc, guard, user}, 1, 0},
		{"the program's own code", []picture.Frame{user, guard}, 0, 0},
		{"nothing else", []picture.Frame{libc, guard}, 0, 0},
		{"a frame of the runtime", []picture.Frame{pseudo, guard, user}, 0, 0},
		{"a frame of another thread", []picture.Frame{gthread, forked, user}, 0, 1},
	} {
		if n := phrase.LibraryCall(c.fs, c.i); n != c.n {
			t.Errorf("%s: %d frames, want %d", c.name, n, c.n)
		}
	}
	for want, f := range map[string]picture.Frame{
		"std::lock_guard<std::mutex>::lock_guard": guard,
		"execute_native_thread_routine":           shared,
		"libstdc++.so.6+0xd44a3":                  {Module: "libstdc++.so.6", Offset: 0xd44a3},
	} {
		if got := phrase.LibraryFunction(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
