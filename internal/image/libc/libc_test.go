package libc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/callbacks/callbackstest"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// machine is a fake target with its library.
type machine struct {
	*callbackstest.Fake
	t       *testing.T
	threads []libc.Thread
	pid     uint64
}

func newMachine(t *testing.T, modules ...string) *machine {
	return newMachineOf(t, callbacks.ArchX86_64, modules...)
}

func newMachineOf(t *testing.T, a callbacks.Arch, modules ...string) *machine {
	f := callbackstest.NewFake(a)
	for i, m := range modules {
		low := callbacks.Addr(0x7f0000000000 + uint64(i)<<24)
		f.AddModule(&callbacks.Module{Path: m, Low: low, High: low.Add(1 << 20)})
	}
	return &machine{Fake: f, t: t}
}

// room maps zeros.
func (m *machine) room(a uint64, size int) { m.Map(callbacks.Addr(a), make([]byte, size)) }

// put writes integers of size bytes.
func (m *machine) put(a uint64, size int, values ...uint64) {
	m.t.Helper()
	if err := m.Put(callbacks.Addr(a), size, values...); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) library() *libc.Library {
	return libc.New(libc.Config{Target: m.Fake, Threads: m.threads, PID: m.pid})
}

// mapping returns the mapping that contains an address.
func (m *machine) mapping(a uint64) *callbacks.Mapping {
	m.t.Helper()
	at := libc.MappingAt(m.Mappings(), a)
	if at == nil {
		m.t.Fatalf("nothing is mapped at %#x", a)
	}
	return at
}

// says checks that an error contains words, such as the address.
func says(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

func TestIsSystem(t *testing.T) {
	for file, want := range map[string]bool{
		"/lib/libc.so.6": true, "/lib/libm.so.6": true, "/lib/libpthread.so.0": true, "/lib/librt.so.1": true,
		"/lib/libdl.so.2": true, "/lib64/ld-linux-x86-64.so.2": true, "/lib/ld-linux-aarch64.so.1": true,
		// Before glibc 2.34.
		"/lib/libc-2.31.so": true, "/lib/libpthread-2.31.so": true, "/lib/librt-2.31.so": true,
		"/lib/libdl-2.31.so":         true,
		"/lib/ld-2.31.so":            true,
		"/lib/ld-musl-x86_64.so.1":   true,
		"/lib/libc.musl-x86_64.so.1": true,
		"[vdso]":                     true, "linux-vdso.so.1": true,
		"": false, "/usr/bin/ld": false, "/usr/lib/libmpi.so.40": false, "/usr/lib/libcrypt.so.1": false,
		"/usr/lib/librtmp.so.1": false, "/usr/lib/libc++.so.1": false, "/home/me/libcholesky.so": false,
	} {
		if got := libc.IsSystem(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestIsLanguage(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/lib/libstdc++.so.6": true, "/usr/lib/libc++.so.1": true, "/usr/lib/libgfortran.so.5": true,
		"/lib/libgcc_s.so.1": true, "/lib/libc.so.6": false,
		"/lib/libtsan.so.2": true, "/usr/lib/libclang_rt.asan-x86_64.so": true, "/usr/lib/libjemalloc.so.2": true,
		"/usr/lib/libother.so.1": false, "/home/me/libatomically.so": false,
	} {
		if got := libc.IsLanguage(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestSanitizers(t *testing.T) {
	for file, want := range map[string]bool{
		"/lib/x86_64-linux-gnu/libtsan.so.2": true, "/usr/lib/libasan.so.8": true, "/usr/lib/libclang_rt.asan.so": true,
		"/lib/libc.so.6": false, "/home/me/libtsanity.so": false, "/usr/lib/libjemalloc.so.2": false,
	} {
		if got := libc.IsSanitizer(file); got != want {
			t.Errorf("IsSanitizer(%q) = %v", file, got)
		}
	}
	for function, want := range map[string]bool{
		"__tsan::call_pthread_cancel_with_cleanup(int (*)(void*), void (*)(void*), void*)": true,
		"__sanitizer::internal_usleep(unsigned long long)":                                 true,
		"__interceptor_pause": true, "main": false, "tsan_work": false,
	} {
		if got := libc.InSanitizer(function); got != want {
			t.Errorf("InSanitizer(%q) = %v", function, got)
		}
	}
	for function, want := range map[string]bool{
		"__futex_abstimed_wait_common": true, "pthread_cond_wait": true, "start_thread": true, "waits": false,
	} {
		if got := libc.Waits(function); got != want {
			t.Errorf("Waits(%q) = %v", function, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		modules []string
		want    libc.Kind
	}{
		{[]string{"/bin/a", "/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}, libc.Glibc},
		{[]string{"/bin/a", "/lib/libc-2.31.so"}, libc.Glibc},
		{[]string{"/bin/a", "/lib/ld-musl-x86_64.so.1"}, libc.Musl},
		{[]string{"/bin/a", "/usr/lib/libc.so", "/lib/libc.musl-aarch64.so.1"}, libc.Musl},
		{[]string{"/bin/static"}, libc.Unknown},
		{nil, libc.Unknown},
	} {
		if got := newMachine(t, tt.modules...).library().Kind(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.modules, got, tt.want)
		}
	}
}

// TestMusl checks that the structures of musl, which differ, are not taken for glibc's.
func TestMusl(t *testing.T) {
	m := newMachine(t, "/bin/a", "/lib/ld-musl-x86_64.so.1")
	m.room(0x1000, 0x2000)
	m.put(0x1000, 8, 0x1000, 0, 0x1000)
	m.threads = []libc.Thread{{Pthread: 0x1000, LWP: 7}}
	l := m.library()
	for what, ask := range map[string]func() error{
		"mutexes":               func() error { _, err := l.Mutex(0x1100); return err },
		"thread control blocks": func() error { _, err := l.ThreadID(0x1000); return err },
		"heaps":                 func() error { _, err := l.BlockAt(0x1100); return err },
		"condition variables":   func() error { return l.Supported("condition variables") },
	} {
		err := ask()
		says(t, what, err, "the C library is musl: its "+what+" are not read")
		if !errors.Is(err, libc.ErrUnsupported) {
			t.Errorf("%s: %v is not ErrUnsupported", what, err)
		}
	}
	if l.InCondition(0x1100, 0x1104) {
		t.Error("a condition variable of musl is read as glibc's")
	}
}

func TestMutex(t *testing.T) {
	const at, shared = 0x1000, 128
	for _, tt := range []struct {
		name  string
		words []uint64 // lock, count, owner, users, kind
		want  libc.Mutex
	}{
		{"free", []uint64{0, 0, 0, 0, 0}, libc.Mutex{}},
		{"taken", []uint64{1, 0, 42, 1, 1}, libc.Mutex{Owner: 42}},
		{"waited for", []uint64{2, 0, 42, 1, 0}, libc.Mutex{Owner: 42, Contended: true}},
		{"waited for, shared", []uint64{2, 0, 42, 1, shared}, libc.Mutex{Owner: 42, Contended: true, Shared: true}},
		{"waited for, and nobody's", []uint64{2, 0, 0, 0, 0}, libc.Mutex{}},
		{"just being released", []uint64{2, 0, 0, 1, 0}, libc.Mutex{}},
		{"with a priority ceiling", []uint64{2, 0, 42, 1, 64 | 99<<19}, libc.Mutex{Owner: 42, Contended: true}},
	} {
		m := newMachine(t, "/lib/libc.so.6")
		m.room(at, 64)
		m.put(at, 4, tt.words...)
		tt.want.Address = at
		if got, err := m.library().Mutex(at); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestNoMutex(t *testing.T) {
	m := newMachine(t)
	m.room(0x1000, 64)
	m.put(0x1000, 4, 2, 0, 42, 1, 0x5a5a5a5a)
	_, err := m.library().Mutex(0x1000)
	says(t, "something else", err, "no mutex is at 0x1000", "0x5a5a5a5a")
	_, err = m.library().Mutex(0x1030)
	says(t, "at the end of memory", err, "mutex at 0x1030", "0x1040")
	if !errors.Is(err, callbacks.ErrUnmapped) {
		t.Errorf("%v is not ErrUnmapped", err)
	}
}

func TestInCondition(t *testing.T) {
	l := newMachine(t).library()
	for word, want := range map[uint64]bool{0x1000: true, 0x102c: true, 0x1030: false, 0xffc: false} {
		if got := l.InCondition(0x1000, word); got != want {
			t.Errorf("word %#x: %v, want %v", word, got, want)
		}
	}
}

// TestBarrier reads the number of threads that arrived at a barrier in this round, and the number that it waits
// for.
func TestBarrier(t *testing.T) {
	for _, c := range []struct {
		came, round, count uint64
		want               int // arrived threads; 0: not a barrier
	}{
		{3, 0, 4, 3}, {9, 8, 4, 1}, {1, 0xffffffff, 4, 2}, // the numbers wrap around
		{4, 4, 4, 0}, {4, 0, 4, 0}, {0, 1, 4, 0}, {1, 0, 0, 0},
	} {
		m := newMachine(t)
		m.room(0x1000, 64)
		m.put(0x1000, 4, c.came, c.round, c.count)
		got, err := m.library().Barrier(0x1004)
		want := libc.Barrier{Address: 0x1000, Came: c.want, Count: int(c.count)}
		if c.want == 0 && err == nil || c.want != 0 && (err != nil || got != want) {
			t.Errorf("%v: %+v (%v), want %+v", c, got, err, want)
		}
	}
}

// source describes glibc's lists as its constants do.
type source struct {
	global    uint64
	constants map[string][]byte
}

func (s source) Symbol(name, _ string) (callbacks.Address, error) {
	if name != "_rtld_global" || s.global == 0 {
		return callbacks.Address{}, fmt.Errorf("%w: %s", callbacks.ErrNoSymbol, name)
	}
	return callbacks.Addr(s.global), nil
}

func (s source) Constant(name string, n int) ([]byte, error) {
	b, ok := s.constants[name]
	if !ok || len(b) < n {
		return nil, fmt.Errorf("%w: %s", callbacks.ErrNoSymbol, name)
	}
	return b[:n], nil
}

// field is a constant that describes a field of 8 bytes.
func field(offset byte) []byte { return []byte{64, 0, 0, 0, 1, 0, 0, 0, offset, 0, 0, 0} }
