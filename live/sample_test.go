package live

import (
	"context"
	"os"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestSamples takes samples of a busy program. Each is of one moment, and only the first has a rehearsal.
func TestSamples(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	s := p.NewSampler()
	rehearsals := 0
	rehearse := func(target callbacks.Target) error {
		rehearsals++
		mustReadProgress(t, target)
		return readFrames(target)
	}
	first := 0 // rehearsals of the first sample
	last := uint64(0)
	for n := range 5 {
		var before, after uint64
		pause, err := s.Sample(background, rehearse, func(target callbacks.Target) error {
			before = mustReadProgress(t, target)
			err := readFrames(target)
			after = mustReadProgress(t, target)
			return err
		})
		if err != nil || before != after || pause.Stops == 0 || pause.Held || pause.Duration <= 0 {
			t.Fatalf("%d, then %d; %+v, %v", before, after, pause, err)
		}
		if n == 0 {
			first = rehearsals
		} else if before <= last {
			t.Errorf("the counter went from %d to %d", last, before)
		}
		last = before
		waitForProgress(t, p)
	}
	if first == 0 || rehearsals != first {
		t.Errorf("%d rehearsals, %d of them for the first sample", rehearsals, first)
	}
	prog.finish()
}

// TestSampleOfMorePages asks a question that reads another new page each time. A sample makes no more than sampleStops
// stops for it. The memory of all samples is bounded: after too much of it comes a whole look.
func TestSampleOfMorePages(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	unused := callbacks.Address{} // the outer end of a thread's stack
	for _, m := range p.maps {
		if m.Perm == callbacks.PermRead|callbacks.PermWrite && m.High.Sub(m.Low) >= 8<<20 {
			unused = m.Low
		}
	}
	pages, rehearsals := 1, 0
	read := func(target callbacks.Target) error {
		b := make([]byte, pages*os.Getpagesize())
		return target.ReadMemory(unused, b)
	}
	rehearse := func(target callbacks.Target) error {
		rehearsals++
		return read(target)
	}
	s := p.NewSampler()
	for i, c := range []struct{ pages, stops, rehearsals int }{
		{1, 1, 1}, {1, 1, 1}, {2, 2, 1}, {2, 1, 1}, {2 * maxSample / os.Getpagesize(), 2, 1}, {1, 1, 2}, {1, 1, 2},
	} {
		pages = c.pages
		n := 0
		pause, err := s.Sample(background, rehearse, func(target callbacks.Target) error {
			n++
			err := read(target)
			if i == 2 {
				pages++
			}
			return err
		})
		if err != nil || n != c.stops || pause.Stops != c.stops || pause.Held || rehearsals != c.rehearsals {
			t.Errorf("sample %d: %d answers, %d rehearsals, %+v, %v; want %+v", i, n, rehearsals, pause, err, c)
		}
	}
	prog.finish()
}

// TestNoSample checks the errors: a process that has ended, and a canceled context.
func TestNoSample(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	s := p.NewSampler()
	ask := func(target callbacks.Target) error { return readFrames(target) }
	if _, err := s.Sample(background, ask, ask); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(background)
	cancel()
	if _, err := s.Sample(canceled, ask, ask); err == nil {
		t.Error("no error after the context ended")
	}
	prog.finish()
	if _, err := s.Sample(background, ask, ask); err == nil {
		t.Error("no error after the process ended")
	}
}
