package fronts

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestLibompdAsksLittle counts the library's requests to LLVM's plugin; each callback runs Python for each byte.
// The bounds are 10% above the measured counts. LLVM's library needs 14 and 134 reads to list the threads, and 64
// and 784 to show a region.
func TestLibompdAsksLittle(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "team", Flags: []string{"-O0", "-g"}})
	library, rt := buildLibompd(t), omptest.RuntimeOf(t, 19)
	symbols, _ := symbolFile(t, rt.Lib)
	script, err := filepath.Abs("testdata/counted.py")
	if err != nil {
		t.Fatal(err)
	}
	type most struct{ reads, bytes int }
	for _, tt := range []struct {
		threads int
		list    most
		region  most
	}{
		{4, most{15, 440}, most{105, 850}},
		{64, most{150, 3200}, most{1100, 9100}},
	} {
		t.Run(fmt.Sprint(tt.threads), func(t *testing.T) {
			t.Setenv("OMP_DEBUG", "enabled")
			t.Setenv("OMP_NUM_THREADS", strconv.Itoa(tt.threads))
			out := plugin{major: 19, library: library, symbols: symbols, runtime: rt, args: []string{exe}}.run(t,
				"source "+script, "break work", "continue", "counted ompd threads", "counted ompd parallel", "kill")
			if n := strings.Count(out, "is an OpenMP thread; state: ompt_state_"); n != tt.threads {
				t.Errorf("%d states of %d threads", n, tt.threads)
			}
			for command, bound := range map[string]most{"ompd threads": tt.list, "ompd parallel": tt.region} {
				m := regexp.MustCompile("counted " + command + `: (\d+) reads, (\d+) bytes`).FindStringSubmatch(out)
				if m == nil {
					t.Fatalf("nothing was counted:\n%s", out)
				}
				reads, _ := strconv.Atoi(m[1])
				bytes, _ := strconv.Atoi(m[2])
				t.Logf("%s: %d reads, %d bytes", command, reads, bytes)
				if reads == 0 || reads > bound.reads || bytes > bound.bytes {
					t.Errorf("%s: %d reads of %d bytes, want at most %+v", command, reads, bytes, bound)
				}
			}
		})
	}
}
