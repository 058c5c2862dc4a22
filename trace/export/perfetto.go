package export

import (
	"encoding/binary"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ompd-inspect/ompd-inspect/trace"
	"github.com/ompd-inspect/ompd-inspect/trace/analyze"
)

// The numbers of the fields of Perfetto's messages that are written (protos/perfetto/trace
// of its source).
const (
	tracePacket = 1 // Trace

	packetTimestamp  = 8 // TracePacket
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60

	descriptorUUID    = 1 // TrackDescriptor
	descriptorName    = 2
	descriptorProcess = 3
	descriptorThread  = 4
	descriptorParent  = 5
	processPID        = 1
	processName       = 6
	threadPID         = 1
	threadTID         = 2
	threadName        = 5

	eventType     = 9 // TrackEvent
	eventName     = 10
	eventTrack    = 11
	eventLocation = 34
	eventFlow     = 47
	sliceBegin    = 1
	sliceEnd      = 2
	instant       = 3

	internedNames     = 2 // InternedData
	internedLocations = 4
	internedID        = 1 // EventName, SourceLocation
	internedName      = 2
	locationFunction  = 3
	locationLine      = 4

	stateCleared, stateNeeded = 1, 2 // of packetFlags
	sequence                  = 1    // all packets are of one
)

// perfetto writes Perfetto's format: a track for each thread with what it did, one for
// each lock with who had it, and flows from the creation of tasks to their execution.
type perfetto struct {
	*labels
	out           *output
	rec           *trace.Recording
	events        map[eventKey]uint64 // interned names
	locations     map[uint64]uint64   // interned places
	locks         map[uint64]uint64   // tracks
	tracks        uint64
	packet, event []byte // that are being made
	interned      []byte
}

// eventKey is what an interned name is of.
type eventKey struct {
	labelKey
	code trace.Code
}

// Perfetto writes a recording in Perfetto's format.
func Perfetto(w io.Writer, rec *trace.Recording, o Options) error {
	p := &perfetto{
		labels: newLabels(rec, o.Names), out: newOutput(w), rec: rec, events: map[eventKey]uint64{},
		locations: map[uint64]uint64{}, locks: map[uint64]uint64{},
	}
	p.process(o.Program)
	analyze.Walk(rec, o.Window, func(t *trace.Thread) analyze.Sink {
		p.tracks++
		p.thread(t, p.tracks)
		return &perfettoThread{p, p.tracks}
	})
	return p.out.close()
}

// processTrack is the track of the process.
const processTrack = 1 << 32

// send ends the packet that is being made.
func (p *perfetto) send() {
	var head [1 + binary.MaxVarintLen64]byte
	b := protowire.AppendTag(head[:0], tracePacket, protowire.BytesType)
	p.out.write(protowire.AppendVarint(b, uint64(len(p.packet))))
	p.out.write(p.packet)
	p.packet = p.packet[:0]
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func message(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func str(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// process describes the process, in the first packet of the sequence.
func (p *perfetto) process(name string) {
	d := number(nil, processPID, uint64(p.rec.PID))
	d = str(d, processName, name)
	t := message(number(nil, descriptorUUID, processTrack), descriptorProcess, d)
	p.packet = number(p.packet, packetSequence, sequence)
	p.packet = number(p.packet, packetFlags, stateCleared)
	p.packet = message(p.packet, packetDescriptor, t)
	p.send()
}

// thread describes the track of a thread. Threads that have ended may have had the number
// of another one: only those that live are threads to Perfetto.
func (p *perfetto) thread(t *trace.Thread, track uint64) {
	d := number(nil, descriptorUUID, track)
	d = number(d, descriptorParent, processTrack)
	name := "thread " + strconv.Itoa(int(t.LWP))
	if t.Life == trace.Alive {
		th := number(nil, threadPID, uint64(p.rec.PID))
		th = number(th, threadTID, uint64(t.LWP))
		d = message(d, descriptorThread, str(th, threadName, name))
	} else {
		d = str(d, descriptorName, name)
	}
	p.describe(d)
}

func (p *perfetto) describe(d []byte) {
	p.packet = number(p.packet, packetSequence, sequence)
	p.packet = message(p.packet, packetDescriptor, d)
	p.send()
}

// lockTrack is the track of a lock.
func (p *perfetto) lockTrack(s *analyze.Span) uint64 {
	track := p.locks[s.Lock]
	if track == 0 {
		track = processTrack + 1 + uint64(len(p.locks))
		p.locks[s.Lock] = track
		d := number(nil, descriptorUUID, track)
		d = str(d, descriptorName, analyze.Title(analyze.LockHeld, s.Kind, s.Lock, p.words))
		p.describe(number(d, descriptorParent, processTrack))
	}
	return track
}

// put writes an event of a track; p.event has its further fields.
func (p *perfetto) put(at, track, kind uint64) {
	p.event = number(number(p.event, eventType, kind), eventTrack, track)
	p.packet = number(p.packet, packetTimestamp, uint64(nanoseconds(&p.rec.Clock, at)))
	p.packet = number(p.packet, packetSequence, sequence)
	p.packet = number(p.packet, packetFlags, stateNeeded)
	if len(p.interned) > 0 {
		p.packet = message(p.packet, packetInterned, p.interned)
	}
	p.packet = message(p.packet, packetEvent, p.event)
	p.event, p.interned = p.event[:0], p.interned[:0]
	p.send()
}

// name interns the title of an event.
func (p *perfetto) name(key eventKey, title func() string) {
	id := p.events[key]
	if id == 0 {
		id = uint64(len(p.events)) + 1
		p.events[key] = id
		p.interned = message(p.interned, internedNames, str(number(nil, internedID, id), internedName, title()))
	}
	p.event = number(p.event, eventName, id)
}

// location interns a place in the source.
func (p *perfetto) location(pc uint64) {
	id, known := p.locations[pc]
	if !known {
		if l := p.place(pc); l.Line != 0 {
			id = uint64(len(p.locations)) + 1
			m := str(number(nil, internedID, id), internedName, l.File)
			m = number(str(m, locationFunction, l.Function), locationLine, uint64(l.Line))
			p.interned = message(p.interned, internedLocations, m)
		}
		p.locations[pc] = id
	}
	if id != 0 {
		p.event = number(p.event, eventLocation, id)
	}
}

// perfettoThread takes the spans of one thread.
type perfettoThread struct {
	*perfetto
	track uint64
}

// Begin implements analyze.Sink.
func (p *perfettoThread) Begin(s *analyze.Span) {
	track := p.track
	if s.What == analyze.LockHeld {
		track = p.lockTrack(s)
	}
	p.name(eventKey{labelKey{s.What, s.Kind, s.Lock}, 0}, func() string { return p.title(s) })
	if p.location(s.PC); s.What == analyze.Task {
		p.flow(s.Task)
	}
	p.put(s.Begin, track, sliceBegin)
}

// End implements analyze.Sink.
func (p *perfettoThread) End(s *analyze.Span) {
	track := p.track
	if s.What == analyze.LockHeld {
		track = p.lockTrack(s)
	}
	p.put(s.End, track, sliceEnd)
}

// Point implements analyze.Sink.
func (p *perfettoThread) Point(_ *trace.Thread, _ uint32, e *trace.Event) {
	key := eventKey{labelKey{kind: e.Kind, lock: e.Lock()}, e.Code}
	p.name(key, func() string { return analyze.PointTitle(e, p.words) })
	if p.location(e.PC); e.Code == trace.TaskCreate {
		p.flow(e.Task())
	}
	p.put(e.Time, p.track, instant)
}

// flow connects what is of one task.
func (p *perfetto) flow(task uint64) {
	p.event = protowire.AppendFixed64(protowire.AppendTag(p.event, eventFlow, protowire.Fixed64Type), task)
}
