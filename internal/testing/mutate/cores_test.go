package mutate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Limits for a mutant: CPU time, which is less than the budget of a look, and resident memory in addition to the
// test's own.
const (
	mostTime   = 5 * time.Second
	mostMemory = 512 << 20
)

// endless is the CPU time after which the test names the mutant and fails.
const endless = 2 * time.Minute

// goldenDir is the directory of the original cores.
var goldenDir = filepath.Join("..", "..", "..", "testdata", "golden")

// tally counts the outcomes of mutants.
type tally struct {
	inputs, answered, refused  int
	panics, slow, large, wrong int
	mostCPU                    time.Duration
	mostRSS                    int64
	byKind                     map[kind]int
}

// TestMutants looks at some hundred mutants of the golden cores, or as many as a campaign wants.
func TestMutants(t *testing.T) {
	n, seed := omptest.Number(t, "cores", 300), omptest.Number(t, "seed", 1)
	subjects := open(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1600))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(96 << 20))
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	sum := tally{byKind: map[kind]int{}}
	for i := range n {
		s := subjects[(seed+i)%len(subjects)] // the seed alone determines a mutant
		s.look(t, out, uint64(seed+i), &sum)
		if (i+1)%1000 == 0 {
			t.Logf("%d: %+v", i+1, sum)
		}
	}
	t.Logf("%d mutants of %d cores, seeds %d to %d: %d answered, %d refused",
		sum.inputs, len(subjects), seed, seed+n-1, sum.answered, sum.refused)
	t.Logf("%d panics, %d over %v, %d over %d MiB, %d wrong exit statuses",
		sum.panics, sum.slow, mostTime, sum.large, mostMemory>>20, sum.wrong)
	t.Logf("at most %v of processor time and %d MiB; changed: %v", sum.mostCPU, sum.mostRSS>>20, sum.byKind)
	if n >= 300 && (sum.answered == 0 || sum.refused == 0) {
		t.Errorf("the mutants are all alike: %+v", sum)
	}
}

// TestKeptMutants looks at mutants that once showed a defect.
func TestKeptMutants(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	sum := tally{byKind: map[kind]int{}}
	subjects := open(t)
	for _, m := range []struct {
		core string
		seed uint64
	}{
		// The condition's word belonged to another exploration of a loop.
		{"llvm-healthy", 1795443019}, {"llvm-deadlock-barrier", 1795449049},
	} {
		i := slices.IndexFunc(subjects, func(s *subject) bool { return s.name == m.core })
		if i < 0 {
			t.Fatalf("no golden core %s", m.core)
		}
		subjects[i].look(t, out, m.seed, &sum)
	}
	if sum.inputs != 2 {
		t.Errorf("%d mutants, want 2", sum.inputs)
	}
}

// open unpacks the golden cores and finds the places to change.
func open(t *testing.T) []*subject {
	t.Helper()
	cores, err := filepath.Glob(filepath.Join(goldenDir, "*", "core.zst"))
	if err != nil || len(cores) < 20 {
		t.Fatalf("%d golden cores, %v", len(cores), err)
	}
	var list []*subject
	for _, core := range cores {
		s := &subject{name: filepath.Base(filepath.Dir(core))}
		dir := t.TempDir()
		if s.files, err = omptest.UnpackGolden(goldenDir, s.name, dir); err != nil {
			t.Fatal(err)
		}
		s.path = filepath.Join(dir, "core")
		if s.size, err = unpack(core, s.path); err != nil {
			t.Fatal(err)
		}
		if s.file, err = os.OpenFile(s.path, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.file.Close() })
		s.find(t)
		for _, k := range []kind{inSegments, inThreads, inLoader} {
			if len(s.places[k]) == 0 {
				t.Errorf("%s: no places in %s", s.name, k)
			}
		}
		if len(s.places[inRuntime]) == 0 && s.name != "foreign" {
			t.Errorf("%s: no places in %s", s.name, inRuntime)
		}
		list = append(list, s)
	}
	return list
}

// unpack decompresses a core and leaves holes for its zeros.
func unpack(from, to string) (int64, error) {
	packed, err := os.ReadFile(from)
	if err != nil {
		return 0, err
	}
	d, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	f, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block, zeros, size := make([]byte, 4096), make([]byte, 4096), int64(0)
	for {
		n, err := io.ReadFull(d, block)
		if n > 0 && !bytes.Equal(block[:n], zeros[:n]) {
			if _, err := f.WriteAt(block[:n], size); err != nil {
				return 0, err
			}
		}
		if size += int64(n); err != nil {
			return size, f.Truncate(size)
		}
	}
}

// look runs the command line on one mutant.
func (s *subject) look(t *testing.T, out *os.File, seed uint64, sum *tally) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	edits := s.mutant(r)
	if err := s.write(edits, false); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.write(edits, true); err != nil {
			t.Fatal(err)
		}
	}()
	for _, e := range edits {
		for k, list := range s.places {
			if slices.Contains(list, e.place) {
				sum.byKind[k]++
			}
		}
	}
	verb := []string{"report", "report", "diagnose"}[r.IntN(3)]
	args := []string{verb, "--json", "--no-debuginfod", "--sysroot", s.files.Sysroot, "--exe", s.files.Exe, s.path}
	name := fmt.Sprintf("seed %d: %s of %s", seed, verb, s.name)
	defer watched(name)()
	resetPeak()
	before := processorTime()
	status, stdout, stderr, panicked := run(t, out, args)
	used, rss := processorTime()-before, peak()
	sum.inputs++
	sum.mostCPU, sum.mostRSS = max(sum.mostCPU, used), max(sum.mostRSS, rss)
	fail := func(count *int, format string, a ...any) {
		*count++
		t.Errorf("%s: %s\n%+v", name, fmt.Sprintf(format, a...), edits)
	}
	switch {
	case panicked != "":
		fail(&sum.panics, "panic: %s", panicked)
	case used > mostTime:
		fail(&sum.slow, "%v of processor time", used)
	case rss > mostMemory:
		fail(&sum.large, "%d MiB", rss>>20)
	default:
		if why := wrong(status, verb, stdout, stderr); why != "" {
			fail(&sum.wrong, "exit status %d: %s: %.300s", status, why, stderr)
		}
	}
	if status == cli.ExitError {
		sum.refused++
	} else {
		sum.answered++
	}
}

// watched ends the test if this process uses endless of CPU time before the returned function is called. The wall
// time of that depends on the machine's load.
func watched(name string) (stop func()) {
	began, over := processorTime(), make(chan struct{})
	go func() {
		tick := time.NewTicker(endless)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if processorTime()-began > endless {
					panic(name + " does not end")
				}
			}
		}
	}()
	return func() { close(over) }
}

// wrong returns the contradictions between an exit status and the output.
func wrong(status int, verb string, stdout []byte, stderr string) string {
	switch {
	case status == cli.ExitError:
		told := len(stdout) > 0 && verb != "diagnose" // it prints the readable part, and a warning
		if told || strings.Count(stderr, "\n") < 1 || !strings.HasPrefix(stderr, "ompd-inspect: ") {
			return "an error that is not said"
		}
		return ""
	case status != cli.ExitOK && !(verb == "diagnose" && (status == cli.ExitFound || status == cli.ExitCrash)):
		return "one that no verb has"
	}
	var pic picture.Picture
	if err := json.Unmarshal(stdout, &pic); err != nil {
		return err.Error()
	}
	if verb == "report" && len(pic.Threads) == 0 {
		return "no thread was read"
	}
	return ""
}

// run runs one command line in this process.
func run(t *testing.T, out *os.File, args []string) (status int, stdout []byte, stderr, panicked string) {
	t.Helper()
	errs, err := os.CreateTemp(t.TempDir(), "err")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		errs.Close()
		os.Remove(errs.Name())
	}()
	if err := out.Truncate(0); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Seek(0, io.SeekStart)
	func() {
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		status = cli.Command{Stdin: os.Stdin, Stdout: out, Stderr: errs}.Run(t.Context(), args)
	}()
	stdout, _ = os.ReadFile(out.Name())
	said, _ := os.ReadFile(errs.Name())
	return status, stdout, string(said), panicked
}

// processorTime returns the CPU time that this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak resets the peak of resident memory.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak returns the peak of resident memory since the reset, in bytes.
func peak() int64 {
	b, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
