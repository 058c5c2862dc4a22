package recordtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestDoacross compares the recorded posts and waits of loop iterations with the notes of each thread of a
// program, in their order, in loops of up to seven dimensions: on LLVM's runtime from its events, and on GNU's.
func TestDoacross(t *testing.T) {
	clangs := build(t, "clang-16", "doacross.c", "-fopenmp")
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 16), omptest.RuntimeOf(t, 19)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			checkDoacross(t, run(t, runtime, clangs, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t)))
		})
	}
	gccs := build(t, "gcc", "doacross.c", "-fopenmp", "-O2")
	for _, runtime := range omptest.Libgomps(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			checkDoacross(t, run(t, runtime, gccs, "LD_PRELOAD="+omptest.Recorder(t)))
		})
	}
}

// checkDoacross compares the threads' notes with their record.
func checkDoacross(t *testing.T, p running) {
	t.Helper()
	want, total := map[uint32][]string{}, 0
	for line := ""; !strings.HasPrefix(line, "DONE "); {
		var err error
		if line, err = p.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if lwp, note, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "DONE ") {
			var n uint32
			if _, err := fmt.Sscan(lwp, &n); err != nil {
				t.Fatal(err)
			}
			want[n], total = append(want[n], note), total+1
		} else if line != "DONE 19 30\n" {
			t.Errorf("it computed %q", line)
		}
	}
	if total != 661 {
		t.Errorf("the threads note %d iterations", total)
	}
	r := readRecording(t, p.Process.Pid)
	for lwp, notes := range want {
		got := iterationsOf(r.ringOf(t, int(lwp)))
		if !slices.Equal(got, notes) {
			t.Errorf("LWP %d has %d posts and waits, and notes %d; the first that differ: %s", lwp, len(got),
				len(notes), firstDifference(got, notes))
		}
	}
}

// firstDifference returns the first difference between two lists.
func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%d: %q and %q", i, a[i], b[i])
		}
	}
	return "one is longer"
}

// iterationsOf returns a thread's posts and waits in the program's format.
func iterationsOf(g ring) (out []string) {
	for _, e := range append(g.main[:len(g.main):len(g.main)], g.rare...) {
		if e.Code != trace.Dependences {
			continue
		}
		list := e.Dependences()
		note := fmt.Sprint(list[0].Type, len(list))
		for _, d := range list {
			note += fmt.Sprint(" ", d.Variable)
		}
		out = append(out, note)
	}
	return out
}
