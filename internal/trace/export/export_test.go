package export_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptrecord"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// names resolves all addresses to one function and line per address.
type names struct{}

func (names) Place(pc uint64) export.Place {
	return export.Place{Function: "transfer", File: "hang.c", Line: int(pc & 0xff)}
}

func (names) Lock(uint64) string { return "a" }

// recorded returns a recording with a region, a barrier, a lock and a task.
func recorded(t testing.TB, rounds int) *trace.Recording {
	t.Helper()
	const region, place = 1<<48 | 7, 1<<48 | 0x401000
	m := tracetest.New(2, 16)
	now := uint64(1000)
	put := func(r tracetest.Record) {
		now += 100
		r.Time = now
		m.Put(0, r)
	}
	put(tracetest.Record{Code: 3, Kind: 1, Value: 2, A: 0x401001, B: region})
	put(tracetest.Record{Code: 7, Kind: 2, Flags: 1, Value: 2, A: region, B: 1<<48 | 1})
	for i := range uint64(rounds) {
		put(tracetest.Record{Code: 23, Kind: 3, Flags: 1, Value: 7, A: place | 2})
		put(tracetest.Record{Code: 23, Kind: 3, Flags: 2, Value: 7, A: place | 2})
		put(tracetest.Record{Code: 26, Kind: 1, A: 0x401003, B: 0xbeef})
		put(tracetest.Record{Code: 27, Kind: 1, A: 0x401003, B: 0xbeef})
		put(tracetest.Record{Code: 17, Kind: 1, A: 0x401004, B: 0xbeef})
		put(tracetest.Record{Code: 5, Value: 4, A: 0x401005, B: 1<<48 | (2 + i)})
		put(tracetest.Record{Code: 6, Kind: 7, A: 1<<48 | 1, B: 1<<48 | (2 + i)})
		put(tracetest.Record{Code: 6, Kind: 1, A: 1<<48 | (2 + i), B: 1<<48 | 1})
	}
	return m.Read(t)
}

// TestThreadsOfARing checks that two threads that had one ring, one after the other, have tracks of their own.
func TestThreadsOfARing(t *testing.T) {
	m := tracetest.New(1, 10)
	m.Takes(0, 1000, 7)
	m.Put(0, tracetest.Record{Time: 2000, Code: 3, Kind: 1, Value: 2, A: 0x401001, B: 9})
	m.Takes(0, 3000, 8)
	m.Put(0, tracetest.Record{Time: 4000, Code: 3, Kind: 1, Value: 2, A: 0x401001, B: 10})
	for _, name := range []string{"x.perfetto-trace", "x.json"} {
		var out bytes.Buffer
		write(t, name, m.Read(t), &out)
		for _, track := range []string{"thread 7", "thread 8"} {
			if n := strings.Count(out.String(), track); n != 1 {
				t.Errorf("%s has %q %d times", name, track, n)
			}
		}
	}
}

// write writes a recording in the format of a file's name.
func write(t testing.TB, name string, rec *trace.Recording, w io.Writer) {
	t.Helper()
	f, err := export.Writer(name)
	if err == nil {
		o := export.Options{Program: "hang", Names: names{}, Name: func(*trace.Event) string { return "event" }}
		err = f(w, rec, o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fields returns the fields of a message of protobuf: numbers, and the contents of messages.
func fields(t *testing.T, b []byte) (numbers map[protowire.Number]uint64, messages map[protowire.Number][][]byte) {
	t.Helper()
	numbers, messages = map[protowire.Number]uint64{}, map[protowire.Number][][]byte{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("no field: %v", protowire.ParseError(n))
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			numbers[field], n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			numbers[field], n = protowire.ConsumeFixed64(b)
		default:
			var m []byte
			m, n = protowire.ConsumeBytes(b)
			messages[field] = append(messages[field], m)
		}
		if n < 0 {
			t.Fatalf("field %d: %v", field, protowire.ParseError(n))
		}
		b = b[n:]
	}
	return numbers, messages
}

// TestPerfetto decodes the output: slices nest on their tracks, and all names are interned before they are
// used.
func TestPerfetto(t *testing.T) {
	var out bytes.Buffer
	write(t, "x.perfetto-trace", recorded(t, 3), &out)
	_, packets := fields(t, out.Bytes())
	open, events := map[uint64]int{}, map[uint64]int{}
	interned := map[uint64]string{}
	tracks := map[uint64]bool{}
	for _, p := range packets[1] {
		numbers, messages := fields(t, p)
		if numbers[10] != 1 {
			t.Errorf("the sequence is %d", numbers[10])
		}
		for _, m := range messages[60] {
			descriptor, _ := fields(t, m)
			tracks[descriptor[1]] = true
		}
		for _, m := range messages[12] {
			_, entries := fields(t, m)
			for _, e := range entries[2] {
				n, s := fields(t, e)
				interned[n[1]] = string(s[2][0])
			}
		}
		for _, m := range messages[11] {
			e, _ := fields(t, m)
			kind, track := e[9], e[11]
			events[kind]++
			switch kind {
			case 1:
				open[track]++
			case 2:
				open[track]--
			}
			if open[track] < 0 || !tracks[track] || kind != 2 && interned[e[10]] == "" || numbers[8] == 0 {
				t.Errorf("an event %v at %d on track %d", e, numbers[8], track)
			}
		}
	}
	// The region, the implicit task, and in each round a barrier, two spans of the lock, and a task.
	if events[1] != 2+3*4 || events[2] != events[1] || events[3] != 3 {
		t.Errorf("%v events", events)
	}
	for track, n := range open {
		if n != 0 {
			t.Errorf("%d slices of track %d do not end", n, track)
		}
	}
	for _, want := range []string{
		"parallel region", "explicit barrier", "wait for lock a", "lock a", "task", "creates a task",
	} {
		found := false
		for _, name := range interned {
			found = found || name == want
		}
		if !found {
			t.Errorf("no event is called %q: %v", want, interned)
		}
	}
}

// TestChrome parses the output.
func TestChrome(t *testing.T) {
	var out bytes.Buffer
	write(t, "x.json", recorded(t, 2), &out)
	var all struct {
		TraceEvents []struct {
			Phase string  `json:"ph"`
			Name  string  `json:"name"`
			TS    float64 `json:"ts"`
			Args  map[string]string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	phases, depth := map[string]int{}, 0
	for _, e := range all.TraceEvents {
		phases[e.Phase]++
		switch e.Phase {
		case "B":
			depth++
		case "E":
			depth--
		}
		if depth < 0 || e.Phase != "M" && e.TS == 0 || e.Name == "explicit barrier" && e.Args["at"] != "hang.c:2" {
			t.Errorf("%+v", e)
		}
	}
	if depth != 0 || phases["B"] != 2+2*3 || phases["b"] != 2 || phases["e"] != 2 || phases["i"] != 2 {
		t.Errorf("depth %d, %v", depth, phases)
	}
}

// TestPprof parses the profile: its samples add up to the time of all waits.
func TestPprof(t *testing.T) {
	var out bytes.Buffer
	write(t, "x.pb.gz", recorded(t, 2), &out)
	z, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	_, messages := fields(t, b)
	count, wait := uint64(0), uint64(0)
	for _, s := range messages[2] {
		_, values := fields(t, s)
		n, k := protowire.ConsumeVarint(values[2][0])
		v, _ := protowire.ConsumeVarint(values[2][0][k:])
		count, wait = count+n, wait+v
	}
	if count != 4 || wait != 400 || len(messages[4]) == 0 || len(messages[4]) != len(messages[5]) {
		t.Errorf("%d waits of %d ns, %d locations, %d functions", count, wait, len(messages[4]), len(messages[5]))
	}
	if all := bytes.Join(messages[6], []byte(" ")); !bytes.Contains(all, []byte("<wait for lock a>")) {
		t.Errorf("the texts are %q", all)
	}
}

// TestPprofTool makes Go's pprof read and sum up a profile. It refuses a profile with dangling references.
func TestPprofTool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, recorded(t, 2), f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-lines", "-unit=ns", path)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
	}
	for _, want := range []string{"Type: wait", "100% of 400ns total", "<wait for lock a>", "transfer hang.c:3"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("pprof does not say %q:\n%s", want, text)
		}
	}
}

// TestLines parses each line.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	write(t, "x.jsonl", recorded(t, 1), &out)
	lines, last := 0, int64(0)
	for line := range strings.Lines(out.String()) {
		var l export.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.LWP != 100 || l.Time < last || l.Text == "" || l.Name != "event" {
			t.Errorf("%+v", l)
		}
		lines, last = lines+1, l.Time
	}
	if lines != 2+8 {
		t.Errorf("%d lines", lines)
	}
	if _, err := export.Writer("x.txt"); err == nil {
		t.Error("a file of an unknown format is written")
	}
}

// TestRecords reads OpenMP's trace records back.
func TestRecords(t *testing.T) {
	var out bytes.Buffer
	write(t, "x.ompt-records", recorded(t, 1), &out)
	const region, implicit, task = 1<<48 | 7, 1<<48 | 1, 1<<48 | 2
	want := []any{
		&omptrecord.ParallelBegin{ParallelID: region, RequestedParallelism: 2, Flags: -0x80000000 + 1,
			CodeptrRA: 0x401001},
		&omptrecord.ImplicitTask{Endpoint: 1, ParallelID: region, TaskID: implicit, ActualParallelism: 2, Flags: 2},
		&omptrecord.SyncRegion{Kind: 3, Endpoint: 1, ParallelID: region, CodeptrRA: 0x401002},
		&omptrecord.SyncRegion{Kind: 3, Endpoint: 2, ParallelID: region, CodeptrRA: 0x401002},
		&omptrecord.MutexAcquire{Kind: 1, WaitID: 0xbeef, CodeptrRA: 0x401003},
		&omptrecord.Mutex{Kind: 1, WaitID: 0xbeef, CodeptrRA: 0x401003},
		&omptrecord.Mutex{Kind: 1, WaitID: 0xbeef, CodeptrRA: 0x401004},
		&omptrecord.TaskCreate{NewTaskID: task, Flags: 4, CodeptrRA: 0x401005},
		&omptrecord.TaskSchedule{PriorTaskID: implicit, PriorTaskStatus: 7, NextTaskID: task},
		&omptrecord.TaskSchedule{PriorTaskID: task, PriorTaskStatus: 1, NextTaskID: implicit},
	}
	b, last := out.Bytes(), uint64(0)
	if len(b) != len(want)*omptrecord.Size {
		t.Fatalf("%d bytes of %d records", len(b), len(want))
	}
	for i := range want {
		r, err := omptrecord.Parse(b[i*omptrecord.Size:])
		if err != nil || !reflect.DeepEqual(r.Body, want[i]) || r.Time < last {
			t.Errorf("record %d is %+v at %d: %v; want %+v", i, r.Body, r.Time, err, want[i])
			continue
		}
		last = r.Time
	}
}

// BenchmarkPerfetto writes 64 Ki events.
func BenchmarkPerfetto(b *testing.B) {
	rec := recorded(b, 1<<13)
	events, begin := 0, tracetest.Processor(b, 0)
	for b.Loop() {
		write(b, "x.perfetto-trace", rec, io.Discard)
		events += 1 << 16
	}
	b.ReportMetric(float64(events)/1e6/tracetest.Processor(b, begin).Seconds(), "Mevents/cpu-s")
}
