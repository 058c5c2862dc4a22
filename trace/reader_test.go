package trace_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

var le = binary.LittleEndian

// TestRead reads rings, one of them full: the events of both rings in order with their details, and the number
// of overwritten ones.
func TestRead(t *testing.T) {
	m := tracetest.New(2, 7)
	m.Put(0, tracetest.Record{Time: 1000, Code: 65, Value: 100, Rare: true})
	const written = 300
	for i := range uint64(written) {
		m.Put(0, tracetest.Record{Time: 2000 + 10*i, Code: 26, Kind: 5, Value: 7, A: 0x401000 + i, B: 0xbeef})
	}
	m.Put(0, tracetest.Record{Time: 2001 + 10*(written-1), Code: 24, A: 0x402000, B: 0xbeef, Rare: true})
	m.Put(1, tracetest.Record{Time: 4985, Code: 5, Flags: 1 << 4, Value: 1, A: 0x403000, B: 1<<48 | 1})
	m.Put(1, tracetest.Record{Code: 64, Time: 99, A: 2 << 48})
	m.Put(1, tracetest.Record{Time: 4995, Code: 23, Kind: 3, Flags: 1 | 4, Value: 9, A: 3<<48 | 0x404000, B: 5})

	rec := m.Read(t)
	if rec.PID != 4711 || len(rec.Threads) != 2 || len(rec.Problems) != 0 {
		t.Fatalf("%+v", rec)
	}
	if lost, damaged := rec.Lost(); lost != written-128 || damaged != 0 || rec.Threads[0].Main.Len() != 128 {
		t.Errorf("%d lost, %d damaged, %d read", lost, damaged, rec.Threads[0].Main.Len())
	}
	type got struct {
		lwp  uint32
		code trace.Code
		pc   uint64
	}
	var all []got
	var task, region uint64
	last := uint64(0)
	for th, e := range rec.Events(4970) {
		if e.Time < last || th.LWPOf(e) != th.LWP {
			t.Errorf("%+v after %d, of %d", e, last, th.LWPOf(e))
		}
		last = e.Time
		all = append(all, got{th.LWP, e.Code, e.PC})
		switch e.Code {
		case trace.TaskCreate:
			task = e.Task() << 16 >> 16 << 32 >> 32
			if e.Count() != 2<<48 {
				t.Errorf("the encountering task is %#x", e.Count())
			}
		case trace.SyncRegion:
			region = e.Region
			if e.Endpoint != trace.Begin || !e.Folded {
				t.Errorf("%+v", e)
			}
		}
	}
	want := []got{
		{100, trace.MutexAcquire, 0x401000 + 297}, {100, trace.MutexAcquire, 0x401000 + 298},
		{101, trace.TaskCreate, 0x403000}, {100, trace.MutexAcquire, 0x401000 + 299},
		{100, trace.LockInit, 0x402000}, {101, trace.SyncRegion, 0x404000},
	}
	if len(all) != len(want) || task != 1 || region != 3<<48|9 {
		t.Fatalf("task %d, region %#x, events %v, want %v", task, region, all, want)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("event %d is %v, want %v", i, all[i], want[i])
		}
	}
}

// TestOverrun continues to write while the reader copies: records that may be overwritten are dropped, and all
// dropped ones are counted.
func TestOverrun(t *testing.T) {
	m := tracetest.New(1, 7)
	write := func(n int) {
		for range n {
			number := le.Uint64(m.Bytes[tracetest.Rings+8:])
			m.Put(0, tracetest.Record{Time: 1 + number, Code: 27, B: number})
		}
	}
	write(200)
	r, err := trace.Open(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	var read, lost uint64
	for round := range 6 {
		m.Reading = nil
		write(70)
		m.Reading = func(at, n uint64) {
			const records = tracetest.Rings + tracetest.Slots // of the main ring
			if at >= records && at < records+32<<7 && n > 0 {
				write(30 * round)
			}
		}
		rec, err := r.New()
		m.Reading = nil
		if err != nil || len(rec.Problems) > 0 {
			t.Fatal(err, rec)
		}
		run := &rec.Threads[0].Main
		c := run.Events()
		for e := (trace.Event{}); c.Next(&e); {
			if e.B != e.Number || e.Time != 1+e.Number {
				t.Errorf("round %d: record %d is %+v", round, e.Number, e)
			}
		}
		read, lost = read+uint64(run.Len()), lost+run.Lost
		if read+lost != run.Written || run.Damaged != 0 {
			t.Errorf("round %d: %d read, %d lost, %d damaged of %d", round, read, lost, run.Damaged, run.Written)
		}
	}
	if lost <= 200-128 || read == 0 {
		t.Errorf("%d read, %d lost", read, lost)
	}
}

// TestDoing reads a thread's current activity from the header of its ring.
func TestDoing(t *testing.T) {
	m := tracetest.New(1, 7)
	g := m.Bytes[tracetest.Rings:]
	m.Put(0, tracetest.Record{Time: 10, Code: 26, Kind: 1, A: 0x401000, B: 0xbeef})
	le.PutUint64(g[32:], 0x41|77<<16)
	le.PutUint32(g[192:], 20) // locks; there is room for 16
	for i := range 16 {
		g[256+32*i+8] = 27
		le.PutUint64(g[256+32*i+24:], uint64(i))
	}
	g[256+32*3+8] = 99       // a value that no recorder writes
	le.PutUint64(g[184:], 9) // releases of other threads' locks
	le.PutUint32(g[200:], 2)
	le.PutUint64(g[1024+32:], 5)
	le.PutUint64(g[1024+32+8:], 6)
	rec := m.Read(t)
	d := rec.Threads[0]
	if d.State != 0x41 || d.Since != 77 || len(d.Held) != 15 || d.Omitted != 5 || d.Held[3].Lock() != 4 || d.Torn ||
		d.Foreign != 9 {
		t.Errorf("%+v", d.Doing)
	}
	if len(d.Tasks) != 2 || d.Tasks[1] != (trace.Task{ID: 5, Region: 6}) {
		t.Errorf("tasks %+v", d.Tasks)
	}
	if e, ok := d.Newest(); !ok || e.PC != 0x401000 {
		t.Errorf("the newest event is %+v, %v", e, ok)
	}
}

// TestKnownStates reports no state of a thread if the events that would have changed it are not recorded.
func TestKnownStates(t *testing.T) {
	const work, barrier, lock, idle, undefined = 0x001, 0x014, 0x041, 0x100, 0x102
	for _, c := range []struct {
		left, state, want uint32
	}{
		{0, work, work}, {0, barrier, barrier}, {0, lock, lock}, {0, idle, idle},
		{26, work, undefined}, {26, barrier, barrier}, {27, lock, undefined}, {28, lock, undefined}, {26, idle, idle},
		{23, work, undefined}, {16, work, undefined}, {23, lock, lock}, {6, barrier, undefined}, {6, work, undefined},
		{5, work, work}, {20, work, work},
	} {
		m := tracetest.New(1, 7)
		le.PutUint64(m.Bytes[128:], (1<<38-2)&^(1<<c.left))
		g := m.Bytes[tracetest.Rings:]
		le.PutUint64(g[32:], uint64(c.state)|77<<16)
		le.PutUint32(g[200:], 1)
		le.PutUint64(g[1024+16:], uint64(c.state)|77<<16)
		d := m.Read(t).Threads[0]
		if d.State != c.want || d.Tasks[0].State != c.want {
			t.Errorf("%#x without events %d is %#x and %#x, want %#x", c.state, c.left, d.State, d.Tasks[0].State,
				c.want)
		}
		le.PutUint64(m.Bytes[408:], 1) // the pause has ended, and the thread has recorded no event since
		if d := m.Read(t).Threads[0]; d.State != undefined {
			t.Errorf("%#x of before a pause is %#x", c.state, d.State)
		}
	}
}

// TestOwners finds the thread of each event in a shared ring.
func TestOwners(t *testing.T) {
	m := tracetest.New(1, 7)
	for i := range uint64(200) {
		e := tracetest.Record{Time: 1 + i, Code: 27}
		if i == 50 || i == 100 || i == 150 {
			e = tracetest.Record{Time: 1 + i, Code: 65, Value: uint32(i)}
		}
		m.Put(0, e)
	}
	g := m.Bytes[tracetest.Rings:]
	le.PutUint32(g[132:], 150) // from another thread
	le.PutUint64(g[144:], 150) // base
	le.PutUint32(g[160:], 100) // the previous thread
	rec := m.Read(t)
	for e := range rec.Threads[0].Events(0) {
		want := uint32(e.Number / 50 * 50)
		if e.Number < 100 { // the record THREAD 50 is lost
			want = 0
		}
		if lwp := rec.Threads[0].LWPOf(e); lwp != want {
			t.Fatalf("record %d is of %d, want %d", e.Number, lwp, want)
		}
	}
}

// TestFind finds a header by its name, without the name, and among several.
func TestFind(t *testing.T) {
	m := tracetest.New(1, 7)
	if _, err := trace.OpenNamed(m, m.Maps, 0); err != nil {
		t.Error(err)
	}
	m.Maps[0].File = ""
	if _, err := trace.OpenNamed(m, m.Maps, 0); !errors.Is(err, trace.ErrNone) {
		t.Errorf("without a name: %v", err)
	}
	if _, err := trace.Open(m, 0); err != nil {
		t.Errorf("by what mappings begin with: %v", err)
	}
	m.Bytes[0]++
	if _, err := trace.Open(m, 0); !errors.Is(err, trace.ErrNone) {
		t.Errorf("nothing is there: %v", err)
	}
	m.Maps[0].File = "/memfd:ompd-recorder (deleted)"
	if _, err := trace.Open(m, 0); !errors.Is(err, trace.ErrDamaged) {
		t.Errorf("a name without a header: %v", err)
	}
}

// TestDamagedHeader changes one field at a time: the header is refused, or a part is left out and the rest
// shown.
func TestDamagedHeader(t *testing.T) {
	for _, c := range []struct {
		name     string
		at       int
		value    uint32
		want     error // of the whole recording
		problems int
		threads  int
	}{
		{name: "version", at: 16, value: 2, want: trace.ErrVersion},
		{name: "record size", at: 24, value: 64, want: trace.ErrDamaged},
		{name: "byte order", at: 32, value: 1, want: trace.ErrDamaged},
		{name: "rings", at: 112, value: 1 << 31, want: trace.ErrDamaged},
		{name: "more tracetest.Rings than there are", at: 112, value: 5, threads: 2},
		{name: "no memory for rings", at: 96, value: 0, problems: 2, threads: 2},
		{name: "address of a ring", at: tracetest.Directory + 4, value: 77, problems: 1, threads: 1},
		{
			name: "the same ring twice", at: tracetest.Directory + 8, value: tracetest.Base + tracetest.Rings,
			problems: 1, threads: 1,
		},
		{name: "size of a ring", at: tracetest.Rings + 48, value: 63, problems: 1, threads: 2},
		{name: "address of records", at: tracetest.Rings + 20, value: 1, problems: 1, threads: 2},
		{name: "a head that was never reached", at: tracetest.Rings + 12, value: 1 << 30, problems: 0, threads: 2},
		{name: "locks", at: tracetest.Rings + 192, value: 1<<32 - 1, threads: 2},
	} {
		m := tracetest.New(2, 7)
		for i := range 2 {
			m.Put(i, tracetest.Record{Time: 10, Code: 27})
		}
		le.PutUint32(m.Bytes[c.at:], c.value)
		r, err := trace.Open(m, 0)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil {
			continue
		}
		rec, err := r.Read()
		if err != nil || len(rec.Problems) != c.problems || len(rec.Threads) != c.threads {
			t.Errorf("%s: %v, threads %d, problems %v", c.name, err, len(rec.Threads), rec.Problems)
		}
	}
}

// TestDamagedRecords leaves out and counts records that no writer can have written.
func TestDamagedRecords(t *testing.T) {
	m := tracetest.New(1, 7)
	for i := range uint64(100) {
		m.Put(0, tracetest.Record{Time: 10 + i, Code: 27, B: i})
	}
	b := m.Bytes[tracetest.Rings+tracetest.Slots:]
	b[32*10+8] = 0                   // never written
	b[32*20+11] = 3                  // of another lap
	le.PutUint64(b[32*30:], 5)       // earlier than the one before
	le.PutUint64(b[32*40:], 1<<60)   // later than the newest
	b[32*50+8], b[32*60+10] = 64, 48 // a continuation without a start, and a start without its continuation
	rec := m.Read(t)
	run := &rec.Threads[0].Main
	c := run.Events()
	n := 0
	for e := (trace.Event{}); c.Next(&e); {
		n++
	}
	if run.Damaged != 4 || c.Skipped != 2 || n != 95 {
		t.Errorf("%d damaged, %d skipped, %d events", run.Damaged, c.Skipped, n)
	}
}

// TestClock converts ticks by the moments in the rings, and ignores impossible ones.
func TestClock(t *testing.T) {
	m := tracetest.New(2, 7)
	moment := func(i int, ticks, monotonic uint64) {
		g := m.Bytes[tracetest.Rings+i*tracetest.RingSize(7):]
		le.PutUint64(g[104:], ticks)
		le.PutUint64(g[112:], monotonic)
	}
	moment(0, 1000+2_000_000, 5000+2_020_000) // 1 % slower than the processor's own frequency
	moment(1, 1<<50, 6000)
	c := m.Read(t).Clock
	if got := c.Monotonic(1000 + 100_000); got != 5000+101_000 {
		t.Errorf("%d ns", got)
	}
	if got := c.Elapsed(101_000, 1000); got != -101_000*time.Nanosecond {
		t.Errorf("between: %v", got)
	}
	if got := c.Ticks(5000 + 101_000); got < 100_999 || got > 101_001 {
		t.Errorf("%d ticks", got)
	}
	if got := c.TicksBefore(101_000, 101_000); got != 1000 {
		t.Errorf("before: %d", got)
	}
	if got := c.Wall(1000).UnixNano(); got != 1e18 {
		t.Errorf("at the start it was %d", got)
	}
}

var _ callbacks.MappingLister = (*tracetest.Image)(nil)
