package waits

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// libraryFrames returns the innermost frames of n up to the program's code, if they are in the C++ library, apart from
// those in the C library.
func (nw *nativeWaits) libraryFrames(n *teams.Thread) []picture.Frame {
	st := n.Stack()
	var out []picture.Frame
	for i := range st.Frames {
		if st.Kinds[i] == stacks.KindSystem {
			continue
		}
		for _, f := range nw.code.FramesWithConstruct(st.Frames[i], st.Kinds[i]) {
			if !stacks.InLibraryHeader(f) {
				return out
			}
			out = append(out, f)
		}
	}
	return out
}

// isAtLatch reports whether n sleeps at a latch of GNU's C++ library that is not at zero. It may have been counted
// down since, which wakes no thread.
func (nw *nativeWaits) isAtLatch(n *teams.Thread, word uint32) bool {
	slept := uint32(n.Registers().SyscallArgs[2])
	if int32(word) <= 0 || word >= slept || nw.isTimed(n, slept) {
		return false
	}
	return slices.ContainsFunc(nw.libraryFrames(n), func(f picture.Frame) bool {
		return filepath.Base(f.File) == "latch" || strings.Contains(f.Function, "std::latch::")
	})
}

// repeatedWait is the evidence of a wait of LLVM's C++ library that has no time limit.
const repeatedWait = "the C++ library sleeps for two seconds at a time, and waits again"

// The functions of LLVM's C++ library that sleep for two seconds, after which their callers read the awaited value and
// call them again. Those with a time limit have other names. The first two sleep on the value itself, the others on a
// word for all objects of some addresses.
var (
	valueWaits = []string{"::__atomic_wait_native<", "::__libcpp_atomic_wait(std::"}
	tableWaits = []string{"::__atomic_wait_global_table(", "::__libcpp_atomic_wait(void "}
)

// notifying are parts of the names of members of its classes that wake waiting threads after each change that may end
// their wait. The writer of another atomic variable may not do so: its change ends the wait within two seconds.
var notifying = []string{
	"::latch::", "::barrier<", "::__barrier_base<", "::counting_semaphore<", "::__atomic_semaphore_base::",
}

// repeatsWait reports whether n waits without a time limit in LLVM's C++ library, which sleeps with one. The wait ends
// when the word changes on which it sleeps.
func (nw *nativeWaits) repeatsWait(n *teams.Thread) bool {
	fs := nw.libraryFrames(n)
	in := func(parts []string) bool {
		return slices.ContainsFunc(fs, func(f picture.Frame) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(f.Function, p) })
		})
	}
	return in(valueWaits) || in(tableWaits) && in(notifying)
}
