package e2e

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// rareTurn is in how many days each of the rare lanes comes once.
const rareTurn = 3

// rareLanes are processes of other releases of the compilers, and of builds that are less usual.
func rareLanes(llvm func(int) func(testing.TB) omptest.Runtime,
	gnu func(string) func(testing.TB) omptest.Runtime) []lane {
	out := []lane{
		{name: "clang-14", build: "O2", release: 14, runtime: llvm(14)},
		{full: true, name: "clang-19", build: "O0", release: 19, runtime: llvm(19)},
		{name: "clang-19", build: "O2", release: 19, runtime: llvm(19)},
		{full: true, name: "clang-19", build: "O3", release: 19, runtime: llvm(19)},
		{name: "gcc-12", build: "O3", runtime: gnu("bookworm")},
		{full: true, name: "gcc-12", build: "O2 -flto", runtime: gnu("bookworm")},
		{full: true, name: "gcc-14", build: "O0", release: 14, runtime: gnu("trixie")},
		{name: "gcc-14", build: "O2", release: 14, runtime: gnu("trixie")},
		{full: true, name: "gcc-15", build: "O2", release: 15, runtime: gnu("sid")},
		{full: true, name: "gcc-16", build: "O2", release: 16, runtime: gnu("sid")},
	}
	for i := range out {
		out[i].mode, out[i].rare, out[i].family = omptest.Live, !out[i].full, "libgomp"
		if strings.HasPrefix(out[i].name, "clang") {
			out[i].family = "libomp"
		}
	}
	return out
}
