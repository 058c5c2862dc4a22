package export

import (
	"encoding/binary"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Numbers of the fields of Perfetto's messages that are written (protos/perfetto/trace in its source).
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
	sequence                  = 1    // all packets have this one
)

// perfetto writes Perfetto's format: a track for each thread with its activities, one for each lock with its
// holders, and flows from the creation of tasks to their execution.
type perfetto struct {
	*labels
	out       *output
	rec       *trace.Recording
	at        func(ticks uint64) int64 // nanoseconds
	events    interning[eventKey]      // names
	locations interning[uint64]        // places, by their addresses
	lines     []bool                   // whether a location has a line
	locks     interning[uint64]        // tracks
	tracks    uint64
	ready     []byte // packets that are not written yet
	packet    []byte // packet of a description
	event     []byte // fields of an event
	interned  []byte // interned data of the next event
}

// eventKey identifies an interned name.
type eventKey struct {
	labelKey
	code trace.Code
}

// writePerfetto writes a recording in Perfetto's format.
func writePerfetto(w io.Writer, rec *trace.Recording, o Options) error {
	rec = rec.Connected()
	p := &perfetto{
		labels: newLabels(rec, o.Names), out: newOutput(w), rec: rec, at: rec.Clock.Converter(),
		events: newInterning[eventKey](), locations: newInterning[uint64](), locks: newInterning[uint64](),
		ready: make([]byte, 0, bufferSize+bufferSize/8),
	}
	p.process(o.Program)
	analyze.Walk(rec, o.Window, func(t *trace.Thread) analyze.Sink { return &perfettoThread{perfetto: p, thread: t} })
	p.out.write(p.ready)
	return p.out.close()
}

// processTrack is the track of the process.
const processTrack = 1 << 32

// send ends the current packet.
func (p *perfetto) send() {
	p.ready = message(p.ready, tracePacket, p.packet)
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

// newTrack describes a new track, of a thread that has or had a ring. Numbers of ended threads may be reused,
// so only live threads are threads to Perfetto.
func (p *perfetto) newTrack(t *trace.Thread, lwp uint32) (track uint64) {
	p.tracks++
	track = p.tracks
	d := number(nil, descriptorUUID, track)
	d = number(d, descriptorParent, processTrack)
	name := threadTitle(lwp)
	if t.Life == trace.Alive && t.LWP == lwp {
		th := number(nil, threadPID, uint64(p.rec.PID))
		th = number(th, threadTID, uint64(lwp))
		d = message(d, descriptorThread, str(th, threadName, name))
	} else {
		d = str(d, descriptorName, name)
	}
	p.describe(d)
	return track
}

func (p *perfetto) describe(d []byte) {
	p.packet = number(p.packet, packetSequence, sequence)
	p.packet = message(p.packet, packetDescriptor, d)
	p.send()
}

// lockTrack returns the track of a lock.
func (p *perfetto) lockTrack(s *analyze.Span) uint64 {
	id, known := p.locks.id(s.Lock, uint8(s.Lock>>4))
	track := processTrack + id
	if !known {
		d := number(nil, descriptorUUID, track)
		d = str(d, descriptorName, analyze.Title(analyze.LockHeld, s.Kind, s.Lock, p.words))
		p.describe(number(d, descriptorParent, processTrack))
	}
	return track
}

// Tags of the fields of an event's packet, as they are written, and the constant parts of the packet.
const (
	tagVarint, tagFixed64, tagBytes = 0, 1, 2

	tagPacket    = tracePacket<<3 | tagBytes
	tagTimestamp = packetTimestamp<<3 | tagVarint
	tagEvent     = packetEvent<<3 | tagBytes
	tagType      = eventType<<3 | tagVarint
	tagName      = eventName<<3 | tagVarint
	tagTrack     = eventTrack<<3 | tagVarint
)

// put writes an event of a track; p.event contains its further fields. The lengths of messages have a fixed
// number of bytes, because they are not known in advance.
func (p *perfetto) put(at, track uint64, kind byte) {
	b := append(p.ready, tagPacket, 0, 0, 0, 0, tagTimestamp)
	begin := len(b) - 1
	b = binary.AppendUvarint(b, uint64(max(p.at(at), 0)))
	b = append(b, packetSequence<<3, sequence, packetFlags<<3, stateNeeded)
	if len(p.interned) > 0 {
		b = message(b, packetInterned, p.interned)
		p.interned = p.interned[:0]
	}
	b = append(b, tagEvent, 0, tagType, kind, tagTrack)
	inner := len(b) - 3
	b = binary.AppendUvarint(b, track)
	b = append(b, p.event...)
	p.event = p.event[:0]
	b[inner-1] = byte(len(b) - inner) // below 128: at most six fields of a few bytes
	n := len(b) - begin
	b[begin-4], b[begin-3], b[begin-2], b[begin-1] = byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14)|0x80, byte(n>>21)
	if len(b) >= bufferSize {
		p.out.write(b)
		b = b[:0]
	}
	p.ready = b
}

// name sets the name of an event by a key. It reports whether the key has a title already; otherwise setTitle
// must follow.
func (p *perfetto) name(key eventKey) (known bool) {
	id, known := p.events.id(key, uint8(key.lock>>4)^uint8(key.what)<<5^key.kind<<2^uint8(key.code))
	p.event = binary.AppendUvarint(append(p.event, tagName), id)
	return known
}

// setTitle interns the title of the newest name.
func (p *perfetto) setTitle(title string) {
	p.interned = message(p.interned, internedNames,
		str(number(nil, internedID, p.events.count()), internedName, title))
}

// location interns a place in the source, if the address has one.
func (p *perfetto) location(pc uint64) {
	id, known := p.locations.id(pc, uint8(pc))
	if !known {
		l := p.place(pc)
		if p.lines = append(p.lines, l.Line != 0); l.Line != 0 {
			m := str(number(nil, internedID, id), internedName, l.File)
			m = number(str(m, locationFunction, l.Function), locationLine, uint64(l.Line))
			p.interned = message(p.interned, internedLocations, m)
		}
	}
	if p.lines[id-1] {
		p.event = number(p.event, eventLocation, id)
	}
}

// perfettoThread receives the spans of the threads that had a ring, one after the other.
type perfettoThread struct {
	*perfetto
	thread *trace.Thread
	lwp    uint32 // thread of the track
	track  uint64 // 0 before the first one
}

// setThread switches to the track of a thread.
func (p *perfettoThread) setThread(lwp uint32) {
	if p.track == 0 || p.lwp != lwp {
		p.lwp, p.track = lwp, p.newTrack(p.thread, lwp)
	}
}

// Begin implements analyze.Sink.
func (p *perfettoThread) Begin(s *analyze.Span) {
	p.setThread(s.LWP)
	track := p.track
	if s.What == analyze.LockHeld {
		track = p.lockTrack(s)
	}
	if !p.name(eventKey{labelKey{s.What, s.Kind, s.Lock}, 0}) {
		p.setTitle(p.title(s))
	}
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
func (p *perfettoThread) Point(_ *trace.Thread, lwp uint32, e *trace.Event) {
	p.setThread(lwp)
	key := eventKey{labelKey{kind: e.Kind, lock: e.Lock()}, e.Code}
	if !p.name(key) {
		p.setTitle(analyze.PointTitle(e, p.words))
	}
	if p.location(e.PC); e.Code == trace.TaskCreate {
		p.flow(e.Task())
	}
	p.put(e.Time, p.track, instant)
}

// flow connects the events of one task.
func (p *perfetto) flow(task uint64) {
	p.event = protowire.AppendFixed64(protowire.AppendTag(p.event, eventFlow, protowire.Fixed64Type), task)
}
