package remote

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// debugger is a debugger that holds a target. Messages are encoded, as on a wire.
type debugger struct {
	callbacks.Target
	bytes, questions atomic.Uint64
	edges            atomic.Uint64 // questions for memory at either end of the address space
}

// maxQuestions ends a loop of questions.
const maxQuestions = 20000

func (d *debugger) Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	var out []*ompdv1.Answer
	for _, q := range questions {
		if d.questions.Add(1) > maxQuestions {
			return nil, errors.New("there is no end of questions")
		}
		if at := q.GetMemory().GetAddress(); q.GetMemory() != nil && (at < 1<<16 || at >= ^uint64(1<<20-1)) {
			d.edges.Add(1)
		}
		b, err := proto.Marshal(Answer(d.Target, q))
		if err != nil {
			return nil, err
		}
		d.bytes.Add(uint64(len(b)))
		a := new(ompdv1.Answer)
		if err := proto.Unmarshal(b, a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, ctx.Err()
}

func dump(t testing.TB, program string, major int, args ...string) (*omptest.Result, *corefile.Core) {
	t.Helper()
	r := omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: program}), Runtime: omptest.RuntimeOf(t, major),
		Mode: omptest.Kernel, Args: args,
	})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return r, c
}

// hello returns the hello of a debugger with those powers. Without powers, it has only OMPD's callbacks and the
// path of the program.
func hello(c *corefile.Core, powers ...ompdv1.Power) *ompdv1.Hello {
	return &ompdv1.Hello{About: &ompdv1.Target{Arch: c.Arch().String(), Executable: c.Info().Executable},
		Powers: powers}
}

func lend(t testing.TB, c *corefile.Core, powers ...ompdv1.Power) (*Target, *debugger) {
	t.Helper()
	d := &debugger{Target: c}
	tg, err := New(hello(c, powers...), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	return tg, d
}

const (
	withRegisters = ompdv1.Power_POWER_REGISTERS
	withMappings  = ompdv1.Power_POWER_MAPPINGS
	withTypes     = ompdv1.Power_POWER_TYPES
)

// TestLaws runs the conformance kit on debuggers with all powers, some and without any.
func TestLaws(t *testing.T) {
	_, c := dump(t, "nested", 16)
	for name, powers := range map[string][]ompdv1.Power{
		"all": {withRegisters, withMappings, withTypes}, "registers": {withRegisters}, "none": nil,
		"mappings": {withMappings}, "registers and mappings": {withRegisters, withMappings},
	} {
		t.Run(name, func(t *testing.T) {
			tg, _ := lend(t, c, powers...)
			at := tg.InContext(t.Context())
			callbackstest.Run(t, at, callbackstest.Known{Symbol: "__kmp_thread_pool", ThreadSymbol: "errno",
				Unmapped: callbacks.Addr(0x10000)})
			_, r := at.(callbacks.RegisterReader)
			_, m := at.(callbacks.MappingLister)
			_, y := at.(callbacks.Types)
			if r != tg.hasPower(withRegisters) || m != tg.hasPower(withMappings) || y != tg.hasPower(withTypes) {
				t.Errorf("registers %v, mappings %v, types %v", r, m, y)
			}
		})
	}
}

// look returns a complete picture.
func look(t testing.TB, tg callbacks.Target) *picture.Picture {
	t.Helper()
	mods, _ := tg.(callbacks.ModuleLister).Modules()
	spaces, err := extended.Open(tg, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sym := symbolize.New(mods, symbolize.Options{})
	t.Cleanup(func() { sym.Close() })
	cfg := inspect.Config{Target: tg, Symbolizer: sym, Unwinder: unwind.New(tg, tg.Arch(), mods)}
	for _, s := range spaces {
		cfg.Runtimes = append(cfg.Runtimes, s)
	}
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return in.Picture(picture.Parts{Threads: true, Regions: true, Tasks: true, ICVs: true, Stacks: true, Native: true})
}

func same(t testing.TB, got, want *picture.Picture) {
	t.Helper()
	a, _ := json.MarshalIndent(got, "", " ")
	b, _ := json.MarshalIndent(want, "", " ")
	if string(a) != string(b) {
		t.Errorf("the picture through the debugger differs:\n%s\nnot\n%s", a, b)
	}
}

// TestSamePicture compares the picture through a debugger with the direct one.
func TestSamePicture(t *testing.T) {
	for _, tt := range []struct {
		program string
		major   int
	}{{"nested", 16}, {"lock_cycle", 19}, {"tasks_deps", 14}, {"crash_task", 15}} {
		t.Run(tt.program, func(t *testing.T) {
			_, c := dump(t, tt.program, tt.major)
			want := look(t, c)
			if len(want.Threads) < 2 || len(want.Regions) == 0 {
				t.Fatalf("a poor picture: %+v", want)
			}
			for _, powers := range [][]ompdv1.Power{{withRegisters, withMappings}, {withRegisters}} {
				tg, d := lend(t, c, powers...)
				got := look(t, tg.InContext(t.Context()))
				for i := range got.Runtimes { // without mappings it is searched in another way
					got.Runtimes[i].Layout = want.Runtimes[i].Layout
				}
				same(t, got, want)
				t.Logf("%v: %d round trips, %d questions, %d KiB", powers, tg.RoundTrips(), d.questions.Load(),
					d.bytes.Load()>>10)
			}
		})
	}
}

// TestFewRoundTrips counts the round trips of a picture of 256 threads, and of a second one at the same stop.
func TestFewRoundTrips(t *testing.T) {
	_, c := dump(t, "many", 16, "256")
	want := look(t, c)
	tg, d := lend(t, c, withRegisters)
	got := look(t, tg.InContext(t.Context()))
	got.Runtimes[0].Layout = want.Runtimes[0].Layout
	same(t, got, want)
	first := tg.RoundTrips()
	t.Logf("%d threads: %d round trips, %d questions, %d KiB", len(got.Threads), first, d.questions.Load(),
		d.bytes.Load()>>10)
	if first > maxTrips {
		t.Errorf("%d round trips, more than %d", first, maxTrips)
	}
	look(t, tg.InContext(t.Context()))
	if n := tg.RoundTrips() - first; n > 0 {
		t.Errorf("another picture of the same stop took %d round trips", n)
	}
	if err := tg.Stopped(nil); err != nil {
		t.Fatal(err)
	}
	look(t, tg.InContext(t.Context()))
	if n := tg.RoundTrips() - first; n < first/2 || n > 2*first {
		t.Errorf("a picture of the next stop took %d round trips, that of the first %d", n, first)
	}
}

// maxTrips is the maximal number of round trips for a picture of 256 threads.
const maxTrips = 50

// TestCallbacksOnly uses only OMPD's callbacks: the runtime is read, and states are those that it tracks
// itself.
func TestCallbacksOnly(t *testing.T) {
	r, c := dump(t, "nested", 16)
	tg, _ := lend(t, c)
	got := look(t, tg.InContext(t.Context()))
	numbers := map[int]int{}
	for _, th := range got.Threads {
		if th.ThreadNum != nil {
			numbers[th.LWP] = *th.ThreadNum
		}
	}
	for _, th := range r.Truth.Threads {
		if n, ok := numbers[th.LWP]; th.OpenMP && th.Role != "idle" && (!ok || n != th.ThreadNum) {
			t.Errorf("LWP %d is number %d, want %d", th.LWP, n, th.ThreadNum)
		}
	}
}

// TestStops checks that data of an ended stop, or of an ended call, is refused.
func TestStops(t *testing.T) {
	_, c := dump(t, "nested", 16)
	tg, _ := lend(t, c, withRegisters)
	ctx, cancel := context.WithCancel(t.Context())
	before, given := tg.InContext(t.Context()), tg.InContext(ctx)
	fresh, err := c.Symbol("__kmp_thread_pool", "")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 8)
	cancel()
	if err := given.ReadMemory(fresh, p); !errors.Is(err, context.Canceled) {
		t.Errorf("memory after the call: %v", err)
	}
	if err := tg.Stopped(&ompdv1.Target{Signal: "SIGTRAP"}); err != nil || tg.About().GetSignal() != "SIGTRAP" {
		t.Errorf("%v, %v", tg.About(), err)
	}
	if err := before.ReadMemory(fresh, p); !errors.Is(err, callbacks.StaleHandle) {
		t.Errorf("memory of a stop that is over: %v", err)
	}
	if err := tg.InContext(t.Context()).ReadMemory(fresh, p); err != nil {
		t.Errorf("memory of the new stop: %v", err)
	}
}

// wrong is a debugger with arbitrary answers.
type wrong struct{ answers []*ompdv1.Answer }

func (w wrong) Ask(context.Context, []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	return w.answers, nil
}

// TestLastPage reads the last page of the address space, which a debugger does not have: it is asked once, and
// the read fails.
func TestLastPage(t *testing.T) {
	_, c := dump(t, "nested", 16)
	tg, d := lend(t, c)
	before := d.questions.Load()
	for range 2 {
		if err := tg.InContext(t.Context()).ReadMemory(callbacks.Addr(^uint64(15)), make([]byte, 8)); err == nil {
			t.Error("memory was read")
		}
	}
	if n := d.questions.Load() - before; n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
}

// TestNoRegisters looks at a program on GNU's runtime through a debugger that lends no registers: the thread pointers
// are unknown, and nothing is read through them.
func TestNoRegisters(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, powers := range [][]ompdv1.Power{nil, {withMappings}} {
		tg, d := lend(t, c, powers...)
		if pic := look(t, tg.InContext(t.Context())); len(pic.Threads) != 3 {
			t.Errorf("%v: %d threads", powers, len(pic.Threads))
		}
		if n := d.questions.Load(); n > maxQuestions || d.edges.Load() > 0 {
			t.Errorf("%v: %d questions, %d of them at an end of the address space", powers, n, d.edges.Load())
		}
	}
}

// TestWrongAnswers checks that wrong answers are errors and never a panic.
func TestWrongAnswers(t *testing.T) {
	_, c := dump(t, "nested", 16)
	other := &ompdv1.Answer{Answer: &ompdv1.Answer_Symbol{Symbol: &ompdv1.SymbolAnswer{}}}
	much := &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: &ompdv1.MemoryAnswer{Data: make([]byte, 8<<20)}}}
	odd := []*ompdv1.NativeThread{
		nil, {Lwp: 1, Registers: &ompdv1.Registers{Values: map[uint32]uint64{1 << 31: 1, 7: ^uint64(0)}}},
	}
	threads := &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{Threads: &ompdv1.ThreadsAnswer{Threads: odd}}}
	for name, answers := range map[string][]*ompdv1.Answer{
		"none": nil, "nil": {nil}, "empty": {{}}, "another": {other}, "two": {other, other}, "much memory": {much},
		"odd threads": {threads},
	} {
		t.Run(name, func(t *testing.T) {
			tg, err := New(hello(c, withRegisters, withMappings, withTypes), wrong{answers}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			at := tg.InContext(t.Context())
			if err := at.ReadMemory(callbacks.Addr(0x1000), make([]byte, 8)); err == nil {
				t.Error("memory was read")
			}
			if ids, err := at.ThreadIDs(callbacks.ThreadIDPthread); err == nil && len(ids) > 0 {
				t.Errorf("threads %v", ids)
			}
			if _, err := at.(callbacks.RegisterReader).Registers(callbacks.LWP(1)); err == nil &&
				name != "odd threads" {
				t.Error("a thread has registers")
			}
			if m := at.(callbacks.MappingLister).Mappings(); len(m) > 0 {
				t.Errorf("mappings %v", m)
			}
			if _, err := at.(callbacks.Types).TypeSize("int", ""); err == nil {
				t.Error("a type has a size")
			}
			if _, err := at.ThreadSymbol(callbacks.LWP(1), "errno", ""); err == nil && name != "another" {
				t.Error("a symbol was found")
			}
			if _, err := ompd.Open(at, ompd.Options{}); err == nil {
				t.Error("a runtime was found")
			}
		})
	}
	if _, err := New(&ompdv1.Hello{}, wrong{}, Options{}); err == nil {
		t.Error("a program without architecture")
	}
}
