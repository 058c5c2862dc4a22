package inspect

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of what is searched of a communicator and its group of Open MPI, in bytes.
const (
	maxComm     = 1 << 10
	maxGroup    = 64
	maxCommName = 64 // MPI_MAX_OBJECT_NAME
)

// worldComm is the name of the communicator of all ranks.
const worldComm = "MPI_COMM_WORLD"

// communicator names the communicator of a call, and says how many ranks it has.
func (a *mpiArgs) communicator(v, world uint64, open bool) {
	if !open {
		if name, known, _ := mpi.MpichComm(uint32(v)); known {
			a.call.Communicator = name
			return
		}
		a.call.Lost = append(a.call.Lost, "communicator (its handle differs from rank to rank)")
		return
	}
	if v == world {
		a.call.Communicator = worldComm
		return
	}
	c := openMPIComm{target: a.target, world: world, rank: (&environment{a.target, a.code.Symbols}).rank()}
	a.call.Communicator, a.call.Size = c.name(v), c.size(v)
	if a.call.Communicator == "" {
		a.call.Lost = append(a.call.Lost, "communicator")
	}
}

// openMPIComm reads communicators of Open MPI. Where their fields are, MPI_COMM_WORLD tells,
// of which name, size and rank are known.
type openMPIComm struct {
	target callbacks.Target
	world  uint64
	rank   *picture.Rank // of the process in the job; nil if that is not known
}

// object reads the communicator of all ranks.
func (c openMPIComm) object() []byte {
	b := make([]byte, maxComm)
	if c.target.ReadMemory(callbacks.At(c.world), b) != nil {
		return nil
	}
	return b
}

// name is the name of a communicator: in the object, as in Open MPI 4, or behind a pointer, as
// in Open MPI 5. It is empty if it cannot be read.
func (c openMPIComm) name(v uint64) string {
	env := &environment{target: c.target}
	object := c.object()
	at := v
	if i := bytes.Index(object, []byte(worldComm+"\x00")); i >= 0 {
		at += uint64(i)
	} else if i := c.pointer(object, func(p uint64) bool { return env.cstring(p, maxCommName) == worldComm }); i >= 0 {
		b := make([]byte, 8)
		if c.target.ReadMemory(callbacks.At(v+uint64(i)), b) != nil {
			return ""
		}
		at = callbacks.Word(b)
	} else {
		return ""
	}
	name := env.cstring(at, maxCommName)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

// pointer is where the first word of an object is that points to what is wanted, -1 if none
// does.
func (c openMPIComm) pointer(object []byte, wanted func(p uint64) bool) int {
	const word, lowest = 8, 1 << 12
	for i := 0; i+word <= len(object); i += word {
		if p := callbacks.Word(object[i : i+word]); p > lowest && p>>48 == 0 && wanted(p) {
			return i
		}
	}
	return -1
}

// size is how many ranks a communicator has: the group of MPI_COMM_WORLD is where its object
// points to size and rank of the process in the job. It is 0 if that is not known.
func (c openMPIComm) size(v uint64) int {
	if c.rank == nil || c.rank.Size < 2 { // of one rank, too much looks like it
		return 0
	}
	group, at := make([]byte, maxGroup), -1
	pair := binary.LittleEndian.AppendUint32(nil, uint32(c.rank.Size))
	pair = binary.LittleEndian.AppendUint32(pair, uint32(c.rank.Rank))
	i := c.pointer(c.object(), func(p uint64) bool {
		if c.target.ReadMemory(callbacks.At(p), group) != nil {
			return false
		}
		at = bytes.Index(group, pair)
		return at >= 0 && at%4 == 0
	})
	b := make([]byte, 8)
	if i < 0 || c.target.ReadMemory(callbacks.At(v+uint64(i)), b) != nil ||
		c.target.ReadMemory(callbacks.At(callbacks.Word(b)+uint64(at)), b) != nil {
		return 0
	}
	size, rank := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if size == 0 || int(size) > c.rank.Size || rank >= size {
		return 0
	}
	return int(size)
}
