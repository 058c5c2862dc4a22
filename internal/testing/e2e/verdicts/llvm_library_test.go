package verdicts

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestWaitsOfLLVMLibrary looks at threads that wait in vain in classes of LLVM's library of C++, which sleeps for two
// seconds at a time, and at the same threads while another one works. The kernel continues an interrupted call with a
// time limit by another one, which the second look sees.
func TestWaitsOfLLVMLibrary(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		has     []string
	}{
		{"verdict_latch", nil, []string{"3 threads wait for a std::latch, and", "verdict_latch.cc:17",
			"They wait without", "sleeps for two seconds at a time", "count the latch down"}},
		{"verdict_future", []string{"0"}, []string{"3 threads wait for a std::future (condition variable at 0x",
			"verdict_future.cc:34", "They sleep without", "give each promise a value"}},
	} {
		for _, level := range []string{"-O0", "-O2"} {
			flags := append([]string{level, "-g", "-std=c++20"}, omptest.Libcxx(t)...)
			exe := omptest.Compile(t, omptest.Build{Program: c.program, Flags: flags})
			for _, helped := range []bool{false, true} {
				t.Run(c.program+"/"+level+"/"+strconv.FormatBool(helped), func(t *testing.T) {
					args := slices.Clone(c.args)
					if helped {
						args = append(args, "1")
					}
					p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Args: args,
						Mode: omptest.Live})
					for range 2 {
						_, pic := e2e.Diagnose(t, strconv.Itoa(p.PID))
						kinds, words := hangsIn(pic)
						switch {
						case helped && len(kinds) > 0:
							t.Errorf("hangs %v, although a thread works:\n%s", kinds, words)
						case !helped && !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictNeverWoken}):
							t.Errorf("hangs %v:\n%s", kinds, words)
						case !helped:
							checkWords(t, words, c.has, nil)
						}
					}
				})
			}
		}
	}
}
