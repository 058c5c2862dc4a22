package recordtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// The numbers of recorder/format.h that the tests need.
const (
	magic         = "\x7fOMPDREC\r\n\x1a\x00\x00\x00\x00\x00"
	headerSize    = 4096
	ringsMax      = 16384
	ringHeader    = 2048
	heldMax       = 16
	addressMask   = 1<<48 - 1
	codeMore      = 64
	codeThread    = 65
	codeFork      = 66
	lifeThread    = 1
	fromOMPT      = 1
	fromLibgomp   = 2
	lifeInherited = 3
)

// header is struct recorder_header.
type header struct {
	Magic                                          [16]byte
	Version, HeaderSize, RecordSize, RingHeader    uint32
	ByteOrder                                      uint64
	PID, Parent, Generation, Clock                 uint32
	Frequency, StartTicks, StartMonotonic, RealNow uint64
	Arena, ArenaSize, ArenaUsed                    uint64
	Rings, Paused                                  uint32
	Unrecorded, Events                             uint64
	OMPVersion, Source                             uint32
	Runtime                                        [128]byte
	Library                                        [64]byte
	Registered                                     [64]int8
	IDs, Reserved                                  uint32
	Resumed                                        uint64
}

// record is struct recorder_record.
type record struct {
	Time                   uint64
	Code, Kind, Flags, Lap uint8
	Value                  uint32
	A, B                   uint64
}

// task is struct recorder_task.
type task struct{ Task, Parallel, State, Reserved uint64 }

// ringFields is struct recorder_ring.
type ringFields struct {
	Begun, Head, Records, Last, State, Recalibrate uint64
	Shift, RareShift                               uint32
	Dropped                                        uint64
	RareBegun, RareHead, RareRecords               uint64
	TasksMade, RegionsMade                         uint64
	MomentTicks, MomentMonotonic                   uint64
	ThreadID                                       uint64
	Life, TID, Index, Epoch                        uint32
	Base, RareBase                                 uint64
	PreviousTID, Type                              uint32
	Pthread, Size, Reserved0                       uint64
	Held, Regions, Tasks, Reserved1                uint32
	Reserved2                                      [6]uint64
	HeldTable                                      [heldMax]record
	RegionTable                                    [8]record
	TaskTable                                      [24]task
	Reserved3                                      [32]uint64
}

// ring is a ring of a program that stands, with its records in their order.
type ring struct {
	ringFields
	main, rare []record
}

// recording is what the recorder has left in a process.
type recording struct {
	header
	rings []ring
}

// readRecording reads the rings of a process whose threads make no events.
func readRecording(t *testing.T, pid int) recording {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	read := func(address uint64, into any) {
		t.Helper()
		b := make([]byte, binary.Size(into))
		if _, err := mem.ReadAt(b, int64(address)); err != nil {
			t.Fatalf("%#x of process %d: %v", address, pid, err)
		}
		if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, into); err != nil {
			t.Fatal(err)
		}
	}
	var r recording
	start := findHeader(t, pid)
	read(start, &r.header)
	if string(r.Magic[:]) != magic || r.Version != 1 || r.ByteOrder != 0x0102030405060708 || r.Rings > ringsMax {
		t.Fatalf("the header is %+v", r.header)
	}
	for i := range r.Rings {
		var address uint64
		read(start+uint64(r.HeaderSize)+8*uint64(i), &address)
		g := ring{}
		read(address, &g.ringFields)
		g.main = ordered(t, records(t, mem, g.Records, g.Shift), g.Head, g.Begun)
		g.rare = ordered(t, records(t, mem, g.RareRecords, g.RareShift), g.RareHead, g.RareBegun)
		r.rings = append(r.rings, g)
	}
	return r
}

// records reads the slots of a ring of 1 << shift records.
func records(t *testing.T, mem *os.File, address uint64, shift uint32) []record {
	t.Helper()
	all := make([]record, 1<<shift)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), len(all)*int(unsafe.Sizeof(all[0])))
	if _, err := mem.ReadAt(b, int64(address)); err != nil {
		t.Fatalf("%d records at %#x: %v", len(all), address, err)
	}
	return all
}

// findHeader finds the recorder's mapping by its name.
func findHeader(t *testing.T, pid int) uint64 {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "/memfd:ompd-recorder") {
			start, _, _ := strings.Cut(line, "-")
			address, err := strconv.ParseUint(start, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return address
		}
	}
	t.Fatalf("process %d has no mapping of the recorder:\n%s", pid, maps)
	return 0
}

// ordered puts records into their order, and checks what holds for each: the lap, and
// that times ascend.
func ordered(t *testing.T, all []record, head, begun uint64) (out []record) {
	t.Helper()
	n := uint64(len(all))
	first := uint64(0)
	if begun > n {
		first = begun - n
	}
	last := uint64(0)
	for i := first; i < head; i++ {
		r := all[i%n]
		if r.Lap != uint8(i/n) || r.Code == 0 {
			t.Errorf("record %d of %d has lap %d and code %d", i, head, r.Lap, r.Code)
		}
		if r.Code != codeMore {
			if r.Time <= last {
				t.Errorf("record %d of %d has time %d after %d", i, head, r.Time, last)
			}
			last = r.Time
		}
		out = append(out, r)
	}
	return out
}

// of returns the ring of a thread that lives.
func (r recording) of(t *testing.T, lwp int) ring {
	t.Helper()
	for _, g := range r.rings {
		if g.TID == uint32(lwp) && g.Life == lifeThread {
			return g
		}
	}
	t.Fatalf("LWP %d has no ring among %d", lwp, len(r.rings))
	return ring{}
}

// state is the thread's ompt_state_t.
func (g ring) state() uint64 { return g.State & 0xffff }

// shown is a record in short, for messages.
func (r record) String() string {
	return fmt.Sprintf("%d:%d flags %#x value %d a %#x b %#x", r.Code, r.Kind, r.Flags, r.Value, r.A, r.B)
}
