package foreign_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/foreign"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// subject is a core of the program, and its runtime.
type subject struct {
	rtl.Runtime
	truth   omptest.Truth
	threads map[int]handles.Thread // by LWP
}

var stamp = handles.Stamp{Space: 3, Epoch: 1}

func open(t *testing.T, linkedIn bool, args []string, flags ...string) *subject {
	t.Helper()
	r := omptest.Dump(t, omptest.Run{Exe: omptest.Foreign(t, linkedIn, flags...), Mode: omptest.Kernel, Args: args})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	rts, err := foreign.Driver().Open(c, stamp, rtl.Options{})
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	s := &subject{Runtime: rts[0], truth: r.Truth, threads: map[int]handles.Thread{}}
	for h, err := range s.Threads() {
		info, e := s.Thread(h)
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		s.threads[int(info.LWP)] = h
	}
	return s
}

// TestThreads compares places, roles and variables with the program's record, with thread-local variables of
// every kind that compilers use.
func TestThreads(t *testing.T) {
	for name, flags := range map[string][]string{
		"O0": {"-O0"}, "O2": {"-O2"}, "O3": {"-O3"}, "descriptors": {"-O2", "-mtls-dialect=gnu2"},
		"initial exec": {"-O2", "-ftls-model=initial-exec"}, "bound at start": {"-O1", "-Wl,-z,now"},
		"protected": {"-O2", "-fcf-protection"},
	} {
		for _, args := range [][]string{nil, {"2"}} {
			for _, linkedIn := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/%t", name, args, linkedIn), func(t *testing.T) {
					t.Parallel()
					s := open(t, linkedIn, args, flags...)
					members := 0
					for _, want := range s.truth.Threads {
						h, known := s.threads[want.LWP]
						if known != want.OpenMP {
							t.Errorf("LWP %d is known: %t; the program says %t", want.LWP, known, want.OpenMP)
						}
						if known {
							members++
							s.checkThread(t, h, want)
						}
					}
					if members < 4 || members != len(s.threads) {
						t.Errorf("%d threads of %d", members, len(s.threads))
					}
				})
			}
		}
	}
}

func (s *subject) checkThread(t *testing.T, h handles.Thread, want omptest.ThreadTruth) {
	t.Helper()
	info, err := s.Thread(h)
	if err != nil || string(info.Role) != want.Role || info.ThreadNum != want.ThreadNum ||
		uint64(want.Pthread) != info.Pthread.Value {
		t.Errorf("LWP %d: %+v, %v; the program says %s %d", want.LWP, info, err, want.Role, want.ThreadNum)
	}
	p, err := s.CurrentParallel(h)
	for level := want.Level; level >= 0; level-- {
		got, e := s.Parallel(p)
		if err != nil || e != nil || got.Level != level || got.TeamSize != want.Sizes[level] || level > 0 &&
			got.PrimaryNum != want.Ancestors[level-1] ||
			level == want.Level && got.ActiveLevel != want.ActiveLevel {
			t.Errorf("LWP %d at level %d: %+v, %v %v; the program says %+v", want.LWP, level, got, err, e, want)
		}
		p, err = s.EnclosingParallel(p)
	}
	if !errors.Is(err, callbacks.Unavailable) {
		t.Errorf("around level 0: %v", err)
	}
	values := map[string]int{"nthreads-var": want.MaxThreads, "max-active-levels-var": want.MaxActiveLevels,
		"thread-limit-var": want.ThreadLimit, "dyn-var": want.Dynamic}
	for i, v := range s.ICVs() {
		got, err := s.ICV(i+1, handles.Subject{Scope: handles.ScopeThread, Thread: h})
		if n, known := values[v.Name]; err != nil || known && got.Int != int64(n) || got.Source == "" {
			t.Errorf("LWP %d: %s is %+v, %v; the program was told %d", want.LWP, v.Name, got, err, n)
		}
		if v.Name == "dyn-var" && got.Text != strconv.FormatBool(want.Dynamic != 0) {
			t.Errorf("LWP %d: dyn-var is %q, the program says %d", want.LWP, got.Text, want.Dynamic)
		}
		delete(values, v.Name)
	}
	if len(values) > 0 {
		t.Errorf("not among the variables: %v", values)
	}
}

// TestTeams finds the members of each team that is unambiguous. Teams that look alike must be reported as such,
// and not mixed.
func TestTeams(t *testing.T) {
	for _, args := range [][]string{nil, {"2"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			s := open(t, false, args, "-O2")
			alike := len(args) > 0
			for _, want := range s.truth.Regions() {
				for num, lwp := range want.Members {
					s.checkMember(t, want, num, lwp, alike && want.Level < 2)
				}
			}
		})
	}
}

// checkMember looks up each member of a region from each other member.
func (s *subject) checkMember(t *testing.T, want omptest.RegionTruth, num, lwp int, alike bool) {
	t.Helper()
	p, err := s.CurrentParallel(s.threads[lwp])
	for err == nil && int(p.Level) > want.Level {
		p, err = s.EnclosingParallel(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	for other, l := range want.Members {
		got, err := s.ThreadInParallel(p, other)
		switch {
		case !alike || other == num && int(p.Level) == want.Level && lwp == l:
			if err != nil || got != s.threads[l] {
				t.Errorf("level %d: thread %d is %v, %v; want LWP %d", want.Level, other, got, err, l)
			}
		case !errors.Is(err, callbacks.Unavailable) || !strings.Contains(err.Error(), "alike"):
			t.Errorf("level %d: thread %d is %v, %v; two teams are alike", want.Level, other, got, err)
		}
	}
	if _, err := s.ThreadInParallel(p, len(want.Members)); !errors.Is(err, callbacks.BadInput) {
		t.Errorf("thread %d: %v", len(want.Members), err)
	}
}

// TestStrangeHandles checks handles of other objects and other readers.
func TestStrangeHandles(t *testing.T) {
	s := open(t, false, nil, "-O2")
	for _, h := range s.threads {
		p, _ := s.CurrentParallel(h)
		h.Epoch++
		_, err := s.Thread(h)
		old := p
		old.Epoch++
		p.Level = 1 << 31
		_, deep := s.Parallel(p)
		_, stale := s.EnclosingParallel(old)
		for _, err := range []error{err, deep, stale} {
			if !errors.Is(err, callbacks.StaleHandle) {
				t.Errorf("%v", err)
			}
		}
	}
	_, err := s.CurrentTask(handles.Thread{})
	if !errors.Is(err, callbacks.Unsupported) {
		t.Errorf("tasks: %v", err)
	}
}

// TestKnownOnesAreLeft checks that modules with a reader of their own are skipped.
func TestKnownOnesAreLeft(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Compiler: omptest.GCC})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var asked []string
	taken := func(m *callbacks.Module) bool { asked = append(asked, m.Path); return true }
	rts, err := foreign.Driver().Open(c, stamp, rtl.Options{Taken: taken})
	if err != nil || len(rts) != 0 || !slices.ContainsFunc(asked,
		func(p string) bool { return strings.Contains(p, "libgomp") }) {
		t.Errorf("%d runtimes, %v; asked of %v", len(rts), err, asked)
	}
}

// noisy is a target with damaged memory, except for code.
type noisy struct {
	*corefile.Core
	noise *rand.Rand
}

// ReadMemory changes a byte in some of the reads of data.
func (n noisy) ReadMemory(at callbacks.Address, p []byte) error {
	err := n.Core.ReadMemory(at, p)
	if len(p) <= 8 && n.noise.IntN(60) == 0 {
		p[n.noise.IntN(len(p))] ^= byte(n.noise.IntN(256))
	}
	return err
}

// Lend returns nil, so that every read uses ReadMemory.
func (noisy) Lend(callbacks.Address, uint64) []byte { return nil }

// TestDamage reads the program with wrong bytes in its structures: every answer stays within bounds, and all
// walks end.
func TestDamage(t *testing.T) {
	r := omptest.Dump(t, omptest.Run{Exe: omptest.Foreign(t, false, "-O2"), Mode: omptest.Kernel})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused, read := 0, 0
	for seed := range uint64(200) {
		rts, err := foreign.Driver().Open(noisy{c, rand.New(rand.NewPCG(seed, 0))}, stamp, rtl.Options{})
		if err != nil || len(rts) != 1 {
			t.Fatal(len(rts), err)
		}
		for h, err := range rts[0].Threads() {
			if err != nil {
				refused++
				continue
			}
			read++
			p, err := rts[0].CurrentParallel(h)
			for n := 0; err == nil; n++ {
				if info, e := rts[0].Parallel(p); e != nil || info.TeamSize < 1 || info.TeamSize > 1<<22 || n > 256 {
					t.Fatalf("%+v, %v", info, e)
				}
				p, err = rts[0].EnclosingParallel(p)
			}
		}
	}
	if refused == 0 || read == 0 {
		t.Errorf("%d threads refused, %d read", refused, read)
	}
}
