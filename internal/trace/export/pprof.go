package export

import (
	"compress/gzip"
	"errors"
	"io"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/pprof"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// waiting makes a profile of waiting: by awaited item, place and region.
type waiting struct {
	*labels
	clock   *trace.Clock
	forks   map[uint64]uint64 // by region: the code that forked it
	samples map[sampleKey]*sample
}

type sampleKey struct {
	title    string
	pc, fork uint64
}

type sample struct {
	count int64
	time  time.Duration
}

// writePprof writes a profile of the waits of threads, for pprof(1).
func writePprof(w io.Writer, rec *trace.Recording, o Options) error {
	rec = rec.Connected()
	p := &waiting{
		labels: newLabels(rec, o.Names), clock: &rec.Clock, forks: map[uint64]uint64{},
		samples: map[sampleKey]*sample{},
	}
	for _, e := range rec.Events(o.Since) {
		if e.Code == trace.ParallelBegin && len(p.forks) < labelsMax {
			p.forks[e.Region] = e.PC
		}
	}
	analyze.Walk(rec, o.Window, func(*trace.Thread) analyze.Sink { return p })
	z := gzip.NewWriter(w)
	_, err := z.Write(p.encode(rec, o.Since))
	return errors.Join(err, z.Close())
}

// Begin implements analyze.Sink.
func (p *waiting) Begin(*analyze.Span) {}

// Point implements analyze.Sink.
func (p *waiting) Point(*trace.Thread, uint32, *trace.Event) {}

// End implements analyze.Sink.
func (p *waiting) End(s *analyze.Span) {
	if s.What != analyze.Sync && s.What != analyze.LockWait && s.What != analyze.Idle {
		return
	}
	key := sampleKey{p.title(s), s.PC, p.forks[s.Region]}
	v := p.samples[key]
	if v == nil {
		if len(p.samples) >= labelsMax {
			return
		}
		v = &sample{}
		p.samples[key] = v
	}
	v.count++
	v.time += duration(p.clock, s.Begin, s.End)
}

// encode returns the profile in the form of pprof.
func (p *waiting) encode(rec *trace.Recording, since uint64) []byte {
	out := pprof.New(pprof.Value{Name: "waits", Unit: "count"}, pprof.Value{Name: "wait", Unit: "nanoseconds"})
	for key, v := range p.samples {
		frames := []pprof.Frame{{Function: "<" + key.title + ">"}}
		for _, pc := range []uint64{key.pc, key.fork} {
			if at := p.place(pc); at != (Place{}) {
				frames = append(frames, pprof.Frame{Function: at.Function, File: at.File, Line: at.Line, Address: pc})
			}
		}
		out.AddSample(frames, []uint64{uint64(v.count), uint64(v.time)})
	}
	span := duration(p.clock, max(since, p.clock.Start()), rec.Last())
	return out.Encode(uint64(span), "wait")
}
