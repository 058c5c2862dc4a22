package export

import (
	"compress/gzip"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Numbers of the fields of pprof's messages (profile.proto).
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6
	profileDuration   = 10
	profileDefault    = 14

	sampleLocation, sampleValue                     = 1, 2
	locationID, locationAddress, locationLines      = 1, 3, 4
	lineFunction, lineNumber                        = 1, 2
	functionID, functionName, functionFile, typeNow = 1, 2, 4, 2
)

// pprof makes a profile of waiting: by awaited item, place and region.
type pprof struct {
	*labels
	clock     *trace.Clock
	forks     map[uint64]uint64 // by region: the code that forked it
	samples   map[sampleKey]*sample
	strings   map[string]int
	texts     []string
	locations map[Place]uint64
	message   []byte
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
	p := &pprof{
		labels: newLabels(rec, o.Names), clock: &rec.Clock, forks: map[uint64]uint64{},
		samples: map[sampleKey]*sample{}, strings: map[string]int{}, locations: map[Place]uint64{},
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
func (p *pprof) Begin(*analyze.Span) {}

// Point implements analyze.Sink.
func (p *pprof) Point(*trace.Thread, uint32, *trace.Event) {}

// End implements analyze.Sink.
func (p *pprof) End(s *analyze.Span) {
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

// text returns the number of a text in the table of strings.
func (p *pprof) text(s string) uint64 {
	i, ok := p.strings[s]
	if !ok {
		i = len(p.texts)
		p.strings[s] = i
		p.texts = append(p.texts, s)
	}
	return uint64(i)
}

// location returns the number of a place, and writes the place on first use.
func (p *pprof) location(at Place, pc uint64) uint64 {
	id, ok := p.locations[at]
	if ok {
		return id
	}
	id = uint64(len(p.locations)) + 1
	p.locations[at] = id
	f := number(nil, functionID, id)
	f = number(f, functionName, p.text(at.Function))
	f = number(f, functionFile, p.text(at.File))
	p.message = message(p.message, profileFunction, f)
	line := number(number(nil, lineFunction, id), lineNumber, uint64(at.Line))
	l := number(number(nil, locationID, id), locationAddress, pc)
	p.message = message(p.message, profileLocation, message(l, locationLines, line))
	return id
}

// encode returns the message Profile.
func (p *pprof) encode(rec *trace.Recording, since uint64) []byte {
	p.text("")
	for _, t := range [][2]string{{"waits", "count"}, {"wait", "nanoseconds"}} {
		v := number(number(nil, 1, p.text(t[0])), typeNow, p.text(t[1]))
		p.message = message(p.message, profileSampleType, v)
	}
	for key, v := range p.samples {
		ids := protowire.AppendVarint(nil, p.location(Place{Function: "<" + key.title + ">"}, 0))
		for _, pc := range []uint64{key.pc, key.fork} {
			if at := p.place(pc); at != (Place{}) {
				ids = protowire.AppendVarint(ids, p.location(at, pc))
			}
		}
		values := protowire.AppendVarint(protowire.AppendVarint(nil, uint64(v.count)), uint64(v.time))
		s := message(message(nil, sampleLocation, ids), sampleValue, values)
		p.message = message(p.message, profileSample, s)
	}
	span := duration(p.clock, max(since, p.clock.Start()), rec.Last())
	p.message = number(p.message, profileDuration, uint64(span))
	p.message = number(p.message, profileDefault, p.text("wait"))
	for _, s := range p.texts {
		p.message = str(p.message, profileString, s)
	}
	return p.message
}
