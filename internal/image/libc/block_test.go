package libc_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
)

// Fields of struct pthread in glibc: selfAt on x86-64 only.
const selfAt = 16

// listAt returns the offset of a block's links.
func (m *machine) listAt() uint64 {
	return map[callbacks.Arch]uint64{callbacks.ArchX86_64: 704, callbacks.ArchAArch64: 192}[m.Arch()]
}

// addStack maps a stack of 16 pages with a guard of one, and puts a thread control block at its upper end, in a
// list of its own.
func (m *machine) addStack(base, tid uint64) (block uint64) {
	const size, guard = 16 << 12, 1 << 12
	m.room(base, size)
	block = base + size - 0x940
	if m.Arch() == callbacks.ArchX86_64 {
		m.put(block, 8, block)
		m.put(block+selfAt, 8, block)
	}
	node := block + m.listAt()
	m.put(node, 8, node, node)
	m.put(node+16, 4, tid)
	m.put(block+1680, 8, base, size, guard)
	return block
}

func TestThreadAt(t *testing.T) {
	m := newMachine(t)
	m.threads = []libc.Thread{{0x9000, 3}, {0, 4}, {0x4000, 2}}
	l := m.library()
	for addr, want := range map[uint64]uint64{0x4000: 2, 0x4fff: 2, 0x5000: 0, 0x3fff: 0, 0x9123: 3, 0x10: 0} {
		if got, ok := l.ThreadAt(addr); got.LWP != want || ok != (want != 0) {
			t.Errorf("%#x: thread %d, %v, want %d", addr, got.LWP, ok, want)
		}
	}
}

// eachMachine runs a test for each architecture.
func eachMachine(t *testing.T, test func(*testing.T, *machine)) {
	for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
		t.Run(a.String(), func(t *testing.T) { test(t, newMachineOf(t, a)) })
	}
}

func TestThreadID(t *testing.T) {
	eachMachine(t, func(t *testing.T, m *machine) {
		block := m.addStack(0x100000, 77)
		l := m.library()
		if tid, err := l.ThreadID(block); tid != 77 || err != nil {
			t.Errorf("%d, %v, want 77", tid, err)
		}
		_, err := l.ThreadID(block - 64)
		says(t, "beside a block", err, "thread control block", "at 0x10f680")
		_, err = l.ThreadID(0x1000)
		says(t, "no memory", err, "thread control block at 0x1000")
		if l.Zeroed(block) || !l.Zeroed(block-64) || l.Zeroed(0x1000) || l.Zeroed(0) {
			t.Error("zeros are zeros only where they can be read")
		}
	})
}

func TestStackAt(t *testing.T) { eachMachine(t, testStackAt) }

func testStackAt(t *testing.T, m *machine) {
	const live, ended = 0x100000, 0x110000 // neighbours in one mapping
	a, b := m.addStack(live, 11), m.addStack(ended, 0)
	whole := callbacks.Mapping{Low: callbacks.Addr(live), High: callbacks.Addr(ended + 16<<12)}
	m.threads = []libc.Thread{{a, 11}}
	l := m.library()
	s, err := l.StackAt(&whole, live+0x8000)
	if err != nil || s.Thread.LWP != 11 || s.Ended() || s.Low != live+0x1000 || s.High != a {
		t.Errorf("the stack of a thread: %+v, %v", s, err)
	}
	if s, err := l.StackAt(&whole, ended+0x8000); err != nil || !s.Ended() || s.Block != b {
		t.Errorf("the stack of a thread that ended: %+v, %v", s, err)
	}
	_, err = l.StackAt(&whole, ended+0x800)
	says(t, "in the guard", err, "0x110800", "0x11f6c0")

	m.threads = append(m.threads, libc.Thread{LWP: 13}) // its block is unknown and may be the one at b
	_, err = m.library().StackAt(&whole, ended+0x8000)
	says(t, "a thread without a block", err, "may be that of LWP 13")

	m.threads = m.threads[:1]
	node := b + m.listAt()
	m.put(node+16, 4, 12)
	_, err = m.library().StackAt(&whole, ended+0x8000)
	says(t, "a thread that nobody knows", err, "0x11f6c0 is that of a thread with the number 12")
	m.put(node+16, 4, 1<<32-1) // it was joined
	if s, err := m.library().StackAt(&whole, ended+0x8000); err != nil || !s.Ended() {
		t.Errorf("the stack of a thread that was joined: %+v, %v", s, err)
	}

	m.threads = append(m.threads, libc.Thread{Pthread: b + 256, LWP: 14}) // no two blocks are so close
	_, err = m.library().StackAt(&whole, ended+0x8000)
	says(t, "in another block", err, "0x11f6c0 is that of LWP 14")

	m.threads = m.threads[:1]
	m.put(node, 8, b) // which does not link back
	_, err = m.library().StackAt(&whole, ended+0x8000)
	says(t, "a block in no list", err, "no thread control block is above 0x118000")

	m.put(node, 8, node)
	m.put(b+1680, 8, ended+1) // no page
	_, err = m.library().StackAt(&whole, ended+0x8000)
	says(t, "a block without a stack", err, "0x11f6c0", "no words in it fit")
}

func TestProcessStack(t *testing.T) {
	const base, end = 0x200000, 0x204f00
	m := newMachine(t)
	m.room(base, 0x5000)
	m.room(0x8000, 8)
	m.put(0x8000, 8, end)
	m.Define("__libc_stack_end", "/lib64/ld-linux-x86-64.so.2", callbacks.Addr(0x8000))
	m.threads, m.pid = []libc.Thread{{0x700000, 5}}, 5
	s, err := m.library().StackAt(m.mapping(base), base+0x100)
	if err != nil || s.Thread.LWP != 5 || s.Low != base || s.High != end {
		t.Errorf("%+v, %v", s, err)
	}
}

// lists is glibc's description of its lists, with _rtld_global at a.
func lists(a uint64) source {
	return source{global: a, constants: map[string][]byte{
		"_thread_db_rtld_global__dl_stack_used": field(0), "_thread_db_rtld_global__dl_stack_user": field(16),
		"_thread_db_list_t_next": field(0), "_thread_db_pthread_list": field(64), "_thread_db_pthread_tid": field(80),
	}}
}

// chain links a head with nodes, forwards and backwards.
func (m *machine) chain(head uint64, nodes ...uint64) {
	all := append([]uint64{head}, nodes...)
	for i, n := range all {
		m.put(n, 8, all[(i+1)%len(all)], all[(i+len(all)-1)%len(all)])
	}
}

func TestThreadLists(t *testing.T) {
	m := newMachine(t)
	m.room(0x1000, 0x3000)
	m.chain(0x1000, 0x2040, 0x2140)
	m.chain(0x1010, 0x2240)
	for i, tid := range []uint64{21, 0, 23} { // the second one is being started
		m.put(0x2050+uint64(i)<<8, 4, tid)
	}
	l, err := libc.FindThreadLists(lists(0x1000))
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Threads(m)
	if want := []libc.Thread{{Pthread: 0x2000, LWP: 21}, {Pthread: 0x2200, LWP: 23}}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("threads %v, %v, want %v", got, err, want)
	}
	if tid, err := l.ThreadID(m, 0x2200); tid != 23 || err != nil {
		t.Errorf("thread id %d, %v, want 23", tid, err)
	}
	_, err = l.ThreadID(m, 0x9000)
	says(t, "no thread", err, "0x9000")

	m.put(0x2148, 8, 0x1000) // the second claims to be the first
	_, err = l.Threads(m)
	says(t, "damaged", err, "list of threads at 0x1000", "node 1 at 0x2140 comes after 0x2040")
	if got := l.Running(m, 10); len(got) != 3 {
		t.Errorf("running: %v, want three", got)
	}
	m.put(0x2140, 8, 0x2040) // a circle
	if got := l.Running(m, 10); len(got) != 11 {
		t.Errorf("running in a circle: %d steps, want 10 and the one of the other list", len(got))
	}
}

func TestNoThreadLists(t *testing.T) {
	far := lists(0x1000)
	far.constants["_thread_db_pthread_tid"] = []byte{64, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}
	for name, s := range map[string]source{"no loader": {}, "no constants": {global: 0x1000}, "a wrong constant": far} {
		if _, err := libc.FindThreadLists(s); !errors.Is(err, callbacks.ErrUnsupportedKind) {
			t.Errorf("%s: %v, want ErrUnsupportedKind", name, err)
		}
	}
}

func TestStorage(t *testing.T) {
	const linkMap, tp, dtv = 0x1000, 0x2000, 0x3000
	s := source{constants: map[string][]byte{
		"_thread_db_link_map_l_tls_modid": field(8), "_thread_db_link_map_l_tls_offset": field(16),
		"_thread_db_pthread_dtvp": field(8), "_thread_db_dtv_t_pointer_val": field(0),
		"_thread_db_dtv_dtv": {128, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, "_thread_db_sizeof_pthread": {0, 9, 0, 0},
	}}
	m := newMachine(t)
	m.room(0x1000, 0x3000)
	m.put(linkMap+8, 8, 2)
	m.put(tp+8, 8, dtv)
	m.put(dtv-16, 8, 5)
	m.put(dtv+32, 8, 0x4440)
	block := func() (uint64, error) {
		return libc.FindStorage(s).Block(m, callbacks.ArchX86_64, linkMap, tp)
	}
	if got, err := block(); got != 0x4440 || err != nil {
		t.Errorf("%#x, %v, want 0x4440", got, err)
	}
	m.put(dtv+32, 8, ^uint64(0)) // not allocated
	m.put(linkMap+16, 8, 0x100)
	if got, err := block(); got != tp-0x100 || err != nil {
		t.Errorf("with a fixed place: %#x, %v, want %#x", got, err, tp-0x100)
	}
	m.put(linkMap+16, 8, ^uint64(0))
	if _, err := block(); !errors.Is(err, callbacks.ErrNoThreadStorage) {
		t.Errorf("without any place: %v", err)
	}
	m.put(linkMap+8, 8, 1<<40)
	_, err := block()
	says(t, "a wrong number", err, "l_tls_modid at 0x1008")
	delete(s.constants, "_thread_db_pthread_dtvp")
	_, err = block()
	says(t, "another libc", err, "thread-local storage of this libc is not known", "_thread_db_pthread_dtvp")
	if got, err := libc.FindStorage(s).Pthread(0x5000); got != 0x4700 || err != nil {
		t.Errorf("pthread %#x, %v, want 0x4700", got, err)
	}
	if _, err := libc.FindStorage(source{}).Pthread(0x5000); !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Errorf("pthread of another libc: %v", err)
	}
}
