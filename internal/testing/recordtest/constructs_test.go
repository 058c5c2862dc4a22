package recordtest

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// build compiles one of testdata's sources and returns the path of the result.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	omptest.Needs(t, "compilers")
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	source = filepath.Join("testdata", source)
	args := append([]string{"-g", "-O1", "-pthread", "-I../../../recorder", "-I../../../recorder/legacy", "-o", out,
		source}, flags...)
	if text, err := exec.Command(omptest.Program(t, compiler), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", compiler, args, err, text)
	}
	return out
}

// running is a program of this package's testdata that has printed READY.
type running struct {
	*exec.Cmd
	said string // the line that starts with READY
	out  *bufio.Reader
}

// run starts a program with an environment of its own and waits until it prints READY. The end of the test kills
// it.
func run(t *testing.T, r omptest.Runtime, exe string, env ...string) running {
	t.Helper()
	return runArgs(t, r, []string{exe}, env...)
}

// runArgs is run with arguments.
func runArgs(t *testing.T, r omptest.Runtime, argv []string, env ...string) running {
	t.Helper()
	environment := append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	if r.Loader != "" {
		argv = append([]string{r.Loader, "--library-path", r.Dir}, argv...)
	} else {
		environment = append(environment, "LD_LIBRARY_PATH="+r.Dir)
	}
	p := running{Cmd: exec.Command(argv[0], argv[1:]...)}
	p.Env = environment
	p.said, p.out = omptest.StartReady(t, p.Cmd)
	return p
}

// TestSameEvents compares the record of a program with each construct with the output of a tool that is chained
// after the recorder: the same events of each thread, in the same order, with the same arguments, including those
// in records MORE.
func TestSameEvents(t *testing.T) {
	recorder := omptest.Recorder(t)
	exe := build(t, "clang-16", "constructs.c", "-fopenmp", "-fopenmp-version=51")
	withError := build(t, "clang-16", "constructs.c", "-fopenmp", "-fopenmp-version=51", "-DWITH_ERROR")
	reference := build(t, "gcc", "reference.c", "-shared", "-fPIC")
	all := append(omptest.Runtimes(t), omptest.RuntimeOf(t, 17), omptest.RuntimeOf(t, 18), omptest.RuntimeOf(t, 23))
	for _, runtime := range all {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(t.TempDir(), "said")
			exe := exe
			if runtime.Major > 15 {
				exe = withError
			}
			preload := "LD_PRELOAD="
			if runtime.Major == 16 {
				preload += recorder // it must not intercept the calls of programs on this runtime
			}
			p := run(t, runtime, exe, preload, "OMP_CANCELLATION=true", "OMP_TOOL_LIBRARIES="+recorder,
				"OMPD_RECORDER=all",
				"OMPD_RECORDER_NEXT=/there/is/none.so:"+reference, "REFERENCE="+said, "KMP_BLOCKTIME=0")
			var want, got []string
			reader := open(t, p.Process.Pid)
			for range settleRounds { // events of threads that are entering the pool
				got = kept(read(t, reader))
				if want = printed(t, said); slices.Equal(got, want) {
					break
				}
			}
			diff(t, got, want)
			checkKinds(t, want, runtime)
		})
	}
}

// settleRounds bounds the reads of a program that comes to rest.
const settleRounds = 1000

// kept returns the recorder's events in the format of testdata/reference.c, those of a thread in their order.
func kept(r recording) (lines []string) {
	slices.SortFunc(r.rings, func(a, b ring) int { return cmp.Compare(a.LWP, b.LWP) })
	for _, g := range r.rings {
		all := append(slices.Clone(g.main), g.rare...)
		all = slices.DeleteFunc(all, func(e trace.Event) bool { return e.Code == trace.NewThread })
		slices.SortFunc(all, func(a, b trace.Event) int { return cmp.Compare(a.Time, b.Time) })
		current := uint64(0) // the thread's current task
		for _, e := range all {
			switch e.Code {
			case trace.ThreadBegin:
				e.A = 0 // the thread's pthread_t
			case trace.ThreadEnd:
				e.Kind = 0
			}
			arguments := more(&e, current)
			if e.Code == trace.Dependences {
				e.Kind, e.B = 0, 0 // this field of a single event is among the arguments
			}
			const addressMask = 1<<48 - 1
			line := fmt.Sprint(g.LWP, e.Code, e.Kind, e.Endpoint, e.Value, (e.A|e.PC)&addressMask, e.B)
			for _, n := range arguments {
				line += fmt.Sprint(" ", n)
			}
			lines = append(lines, line)
			if e.Code == trace.TaskSchedule && e.B != 0 || e.Code == trace.ImplicitTask && e.Endpoint == trace.Begin {
				current = e.B
			}
		}
	}
	return lines
}

// more returns the arguments in an event's records MORE. For tasks created by the current task, it adds that
// task, which has no record.
func more(e *trace.Event, current uint64) (out []uint64) {
	switch e.Code {
	case trace.ParallelBegin, trace.ParallelEnd:
		return []uint64{e.Task()}
	case trace.TaskCreate:
		if e.Folded {
			return []uint64{current}
		}
		return []uint64{e.Creator()}
	case trace.ImplicitTask, trace.Work:
		return []uint64{e.Count()}
	case trace.SyncRegion:
		return []uint64{map[bool]uint64{true: 1}[e.Folded]}
	case trace.Dispatch:
		return []uint64{binary.LittleEndian.Uint64(e.More[16:]), binary.LittleEndian.Uint64(e.More[24:])}
	case trace.Dependences:
		for _, d := range e.Dependences() {
			out = append(out, d.Variable, uint64(d.Type))
		}
	case trace.ErrorEvent:
		for _, b := range e.Bytes() {
			out = append(out, uint64(b))
		}
	}
	return out
}

// printed returns the output of testdata/reference.c, the lines of a thread together.
func printed(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		var x, y int
		_, _ = fmt.Sscan(a, &x)
		_, _ = fmt.Sscan(b, &y)
		return cmp.Compare(x, y)
	})
	begun(lines)
	return lines
}

// begun gives forks the ids of the regions that their first tasks have: the runtime reports a fork with a word
// that it copies only later.
func begun(lines []string) {
	const lwp, code, endpoint, forked, entered, index = 0, 1, 3, 6, 5, 7
	last := map[string]int{} // a thread's last fork with an unstarted task
	for i, line := range lines {
		f := strings.Fields(line)
		switch {
		case f[code] == "3":
			last[f[lwp]] = i
		case f[code] == "7" && f[endpoint] == "1" && f[index] == "0":
			if at, ok := last[f[lwp]]; ok {
				fork := strings.Fields(lines[at])
				fork[forked] = f[entered]
				lines[at] = strings.Join(fork, " ")
				delete(last, f[lwp])
			}
		}
	}
}

// diff shows the first difference between two lists.
func diff(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%d events, want %d; they differ from the %dth on:\n got %q\nwant %q", len(got), len(want), i,
				got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

// checkKinds checks that the program made all kinds of events that each runtime has.
func checkKinds(t *testing.T, lines []string, runtime omptest.Runtime) {
	t.Helper()
	codes := map[int]int{}
	for _, line := range lines {
		var lwp, code int
		_, _ = fmt.Sscan(line, &lwp, &code)
		codes[code]++
	}
	want := []int{1, 3, 4, 5, 6, 7, 11, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 67}
	if runtime.Major > 14 {
		want = append(want, 32)
	}
	if runtime.Major > 15 {
		want = append(want, 37)
	}
	for _, code := range want {
		if codes[code] == 0 {
			t.Errorf("no event %d among %v", code, codes)
		}
	}
}
