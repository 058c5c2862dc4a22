package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The numbers of recorder/format.h.
const (
	mappingName = "/memfd:ompd-recorder"
	magic       = "\x7fOMPDREC\r\n\x1a\x00\x00\x00\x00\x00"
	version     = 1
	byteOrder   = 0x0102030405060708

	headerSize = 4096
	headerUsed = 416 // bytes of struct recorder_header
	ringsMax   = 16384
	recordSize = 32
	ringHeader = 2048
	shiftMax   = 20 // RECORDER_RECORDS_MAX
	heldMax    = 16
	regionsMax = 8
	tasksMax   = 24

	addressBits = 48
	addressMask = 1<<addressBits - 1
	stateBits   = 16
)

// Offsets of fields in struct recorder_header.
const (
	headerVersion    = 16
	headerHeaderSize = 20
	headerRecordSize = 24
	headerRingHeader = 28
	headerByteOrder  = 32
	headerPID        = 40
	headerParent     = 44
	headerGeneration = 48
	headerClock      = 52
	headerFrequency  = 56
	headerStart      = 64
	headerRealtime   = 80
	headerArenaSize  = 96
	headerArenaUsed  = 104
	headerRings      = 112
	headerPaused     = 116
	headerUnrecorded = 120
	headerEvents     = 128
	headerOMPVersion = 136
	headerSource     = 140
	headerRuntime    = 144
	headerLibrary    = 272
	headerRegistered = 336
	headerIDs        = 400
	headerResumed    = 408
)

// Offsets of fields in struct recorder_ring.
const (
	ringHead        = 8
	ringRecords     = 16
	ringLast        = 24
	ringState       = 32
	ringShift       = 48
	ringRareShift   = 52
	ringDropped     = 56
	ringRare        = 64
	ringRareRecords = 80
	ringMoment      = 104
	ringThreadID    = 120
	ringLife        = 128
	ringTID         = 132
	ringIndex       = 136
	ringEpoch       = 140
	ringBase        = 144
	ringRareBase    = 152
	ringPreviousTID = 160
	ringType        = 164
	ringPthread     = 168
	ringForeign     = 184
	ringHeld        = 192
	ringRegions     = 196
	ringTasks       = 200
	ringHeldTable   = 256
	ringRegionTable = 768
	ringTaskTable   = 1024
)

// Errors of opening a recorder. Test with errors.Is.
var (
	// ErrNone means that the target has no recorder.
	ErrNone = errors.New("no recorder: start the program with `ompd-inspect record -- PROGRAM`")
	// ErrDamaged means that a recorder's memory has no valid header.
	ErrDamaged = errors.New("the recorder's header is damaged")
	// ErrVersion means that the recorder uses another version of the format.
	ErrVersion = errors.New("the recorder is of another version")
)

// Process identifies the process in which events were recorded.
type Process struct {
	PID        uint32 `json:"pid"`
	Parent     uint32 `json:"parent,omitempty"`     // process that forked it; 0: not forked
	Generation uint32 `json:"generation,omitempty"` // number of forks since the recorder's first process
}

// Header describes a recording as a whole (struct recorder_header).
type Header struct {
	Process
	Clock      Clock    // for all times
	IDs        uint32   // kind of ids: 1 our own, 2 reused addresses, 3 regions are the runtime's, 4 all are
	Source     uint32   // 1 OMPT, 2 calls of the runtime, 3 both
	OMPVersion uint32   // as the runtime reports it: yyyymm
	Runtime    string   // the runtime's version
	Library    string   // the recorder's version
	Rings      uint32   // in the directory
	Unrecorded uint64   // threads without a ring: all rings were taken
	Limit      uint64   // for the memory of rings, in bytes
	Used       uint64   // bytes used by rings
	Events     uint64   // mask of the recorded codes
	Registered [64]int8 // the runtime's answer to each registration; -1: not requested
	Paused     bool     // recording is paused by omp_control_tool
	Resumed    uint64   // time of the last end of a pause; 0: never
}

// Records reports whether events of all these codes are recorded, if the runtime sends them.
func (h *Header) Records(codes ...Code) bool {
	for _, c := range codes {
		if h.Events>>c&1 == 0 {
			return false
		}
	}
	return true
}

var le = binary.LittleEndian

// parseHeader checks and decodes the first bytes of the mapping.
func parseHeader(b []byte) (Header, error) {
	if string(b[:len(magic)]) != magic {
		return Header{}, fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	if v := le.Uint32(b[headerVersion:]); v != version {
		return Header{}, fmt.Errorf("%w: %d, and this program knows %d", ErrVersion, v, version)
	}
	for _, f := range []struct {
		name string
		at   int
		want uint64
		size int
	}{
		{"header_size", headerHeaderSize, headerSize, 4},
		{"record_size", headerRecordSize, recordSize, 4},
		{"ring_header", headerRingHeader, ringHeader, 4},
		{"byte_order", headerByteOrder, byteOrder, 8},
	} {
		have := le.Uint64(b[f.at:])
		if f.size == 4 {
			have &= 1<<32 - 1
		}
		if have != f.want {
			return Header{}, fmt.Errorf("%w: %s is %#x, not %#x", ErrDamaged, f.name, have, f.want)
		}
	}
	word := func(at int) uint32 { return le.Uint32(b[at:]) }
	h := Header{
		Process: Process{word(headerPID), word(headerParent), word(headerGeneration)},
		IDs:     word(headerIDs), Source: word(headerSource), OMPVersion: word(headerOMPVersion),
		Runtime: text(b[headerRuntime:headerLibrary]), Library: text(b[headerLibrary:headerRegistered]),
		Rings: word(headerRings), Unrecorded: le.Uint64(b[headerUnrecorded:]),
		Limit: le.Uint64(b[headerArenaSize:]), Used: le.Uint64(b[headerArenaUsed:]),
		Events: le.Uint64(b[headerEvents:]), Paused: word(headerPaused) != 0, Resumed: le.Uint64(b[headerResumed:]),
		Clock: Clock{
			kind: word(headerClock), frequency: le.Uint64(b[headerFrequency:]),
			start: parseMoment(b[headerStart:]), realtime: le.Uint64(b[headerRealtime:]),
		},
	}
	h.Clock.late = h.Clock.start
	for i := range h.Registered {
		h.Registered[i] = int8(b[headerRegistered+i])
	}
	if h.Rings > ringsMax {
		return h, fmt.Errorf("%w: %d rings, more than %d", ErrDamaged, h.Rings, ringsMax)
	}
	return h, nil
}

// text returns a NUL-terminated text without unprintable characters.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}
