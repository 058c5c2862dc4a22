package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestCutRecordFile truncates a small file of record --save, with each kind of event and with successive threads.
// It cuts at each byte of the used pages; if OMPD_FULL is unset, at one byte in 13 and at the ends of pages. Each
// shown event is one of the whole file, also for a ring that is cut in its middle. A longer file shows at least
// as many events, and missing events are reported.
func TestCutRecordFile(t *testing.T) {
	library := omptest.Recorder(t)
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			b := omptest.Build{Program: "recorded_kinds"}
			if runtime.Name == omptest.Libgomp(t).Name {
				b.Compiler = omptest.GCC
			}
			exe := omptest.Compile(t, b)
			file := filepath.Join(t.TempDir(), "kinds.recording")
			status, _, errs := e2e.Output(t, "record", "--library", library, "--memory", "256K", "--save", file, "--",
				"env", "LD_LIBRARY_PATH="+runtime.Dir, "sh", "-c", `exec "$0" >/dev/null`, exe)
			if status != 0 || errs != "" {
				t.Errorf("exit status %d, printed %q", status, errs)
			}
			cutEverywhere(t, file, exe)
		})
	}
}

// shownEvent has the fields that distinguish an event from others.
type shownEvent struct {
	lwp  uint32
	time uint64
	code uint8
}

// eventsOf returns the events that the tool shows of a saved file, and whether it reports missing ones; ok is
// false if it refuses the file.
func eventsOf(file, exe string) (events map[shownEvent]int, missing, ok bool) {
	c, err := corefile.Open(file, corefile.Options{Exe: exe})
	if err != nil {
		return nil, false, false
	}
	defer c.Close()
	r, err := trace.Open(c, 0)
	if err != nil {
		return nil, false, false
	}
	rec, err := r.Read()
	if err != nil {
		return nil, false, false
	}
	events, words, says := map[shownEvent]int{}, rec.Words(nil), []byte(nil)
	for th, e := range rec.Events(0) {
		says = words.Append(says[:0], e)
		events[shownEvent{th.LWPOf(e), e.Time, uint8(e.Code)}]++
	}
	return events, len(rec.Problems) > 0, true
}

// cutEverywhere compares the events of the truncated files with those of the whole one.
func cutEverywhere(t *testing.T, file, exe string) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, missing, ok := eventsOf(file, exe)
	kinds, lives := map[uint8]bool{}, map[uint32]bool{}
	for e := range all {
		kinds[e.code], lives[e.lwp] = true, true
	}
	if !ok || missing || !kinds[uint8(trace.Dependences)] || !kinds[uint8(trace.NestLock)] || len(lives) < 5 {
		t.Fatalf("the whole file shows events of the codes %v and %d threads", kinds, len(lives))
	}
	const page = 4096
	before, cuts, shown, step := len(all), 0, map[int]bool{}, 13
	if omptest.Full() {
		step = 1
	}
	empty := make([]byte, page)
	for end := len(whole) - 1; end >= 0; end-- {
		from := end / page * page
		if end != from && bytes.Equal(whole[from:min(from+page, len(whole))], empty[:min(page, len(whole)-from)]) {
			continue
		}
		if end%step != 0 && (end+1)%page > 2 {
			continue
		}
		if err := os.Truncate(file, int64(end)); err != nil {
			t.Fatal(err)
		}
		cuts++
		some, missing, ok := eventsOf(file, exe)
		for e, n := range some {
			if n > all[e] {
				t.Errorf("%d bytes show %+v, which the whole file does not", end, e)
			}
		}
		if ok && len(some) < len(all) && !missing || len(some) > before {
			t.Errorf("%d bytes show %d events, the cut before %d, all %d; said to be missing: %v", end, len(some),
				before, len(all), missing)
		}
		if t.Failed() {
			return
		}
		before = len(some)
		shown[before] = true
	}
	t.Logf("%d bytes, %d cuts, %d events, %d numbers of them", len(whole), cuts, len(all), len(shown))
	if cuts < 10*page/step || len(shown) < 100 || !shown[0] {
		t.Errorf("%d cuts show %d numbers of events", cuts, len(shown))
	}
}
