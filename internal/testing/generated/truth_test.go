package generated

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

// Note is one note of a thread.
type Note struct {
	Kind, Line int32
	Object     uint64
}

// slot has the notes of a thread, in the layout of gen.h.
type slot struct {
	Seq                        uint32
	LWP                        int32
	ThreadNum, TeamSize, Level int32
	Depth, Holds, _            int32
	Notes                      [noteDepth]Note
	Held                       [noteHolds]Note
}

// The sizes of gen.h.
const (
	slots     = 64
	noteDepth = 24
	noteHolds = 16
)

// Kinds of notes, as in gen.h.
const (
	NoteLock = 1 + iota
	NoteNestLock
	NoteCritical
	NoteMutex
	NoteBarrier
	NoteTaskwait
	NoteCondition
	NoteOrdered
	NoteReadWrite
	NoteSemaphore
	NotePoll    // a loop of the program's own, until a word changes or a lock is free
	NoteThreads // a barrier of the C library
)

const (
	NoteRegion = 32 + iota
	NoteRegionEnd
	NoteTask
	NoteConstruct
)

// pageSize is the size of the page in bytes.
var pageSize = 16 + slots*binary.Size(slot{})

// Truth has the notes of the threads of a program, by LWP.
type Truth map[int]*slot

// readTruth reads the page of a process.
func readTruth(pid int, page uint64) (Truth, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, fmt.Errorf("truth: %w", err)
	}
	defer mem.Close()
	data := make([]byte, pageSize)
	if _, err := mem.ReadAt(data, int64(page)); err != nil {
		return nil, fmt.Errorf("truth: %w", err)
	}
	return truthIn(data)
}

// truthIn decodes a page.
func truthIn(data []byte) (Truth, error) {
	if !bytes.HasPrefix(data, []byte("GENERATED PAGE\x00")) {
		return nil, fmt.Errorf("truth: %q where the page should begin", data[:16])
	}
	truth := Truth{}
	size := binary.Size(slot{})
	for rest := data[16:]; len(rest) >= size; rest = rest[size:] {
		lwp := binary.LittleEndian.Uint32(rest[4:])
		if lwp == 0 {
			continue
		}
		s := new(slot)
		if _, err := binary.Decode(rest, binary.LittleEndian, s); err != nil {
			return nil, fmt.Errorf("truth: %w", err)
		}
		truth[int(lwp)] = s
	}
	return truth, nil
}

// same returns the threads that have made no note between two reads, and were not about to.
func same(a, b Truth) Truth {
	still := Truth{}
	for lwp, s := range a {
		if t := b[lwp]; t != nil && t.Seq == s.Seq && s.Seq%2 == 0 {
			still[lwp] = s
		}
	}
	return still
}

// top returns the innermost note of a thread.
func (s *slot) top() Note {
	if s.Depth == 0 {
		return Note{}
	}
	return s.Notes[s.Depth-1]
}

// waits reports whether the note is one of a wait.
func (n Note) waits() bool { return n.Kind > 0 && n.Kind < NoteRegion }

// exclusive reports whether it waits for an object that one thread holds at a time.
func (n Note) exclusive() bool {
	return n.Kind > 0 && n.Kind <= NoteMutex || n.Kind == NoteReadWrite
}

// holds reports whether the thread has noted that it holds an object, or waits for it and may just have acquired
// it.
func (s *slot) holds(object uint64) bool {
	for _, n := range s.Held[:s.Holds] {
		if n.Object == object {
			return true
		}
	}
	return false
}
