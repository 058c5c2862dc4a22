package inspect

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/waits"
	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mpiCalls reads the calls of MPI that threads wait in.
type mpiCalls struct {
	target callbacks.Target
	code   *stacks.Code
	flows  *stacks.Flow
	waits  *waits.Finder
}

// call returns the call of MPI that n waits in, nil if it waits in no such call.
func (m *mpiCalls) call(n *teams.Thread) *picture.MPICall {
	found, ok := m.waits.MPICall(n)
	if !ok {
		return nil
	}
	st := n.Stack()
	c := &picture.MPICall{
		Routine: found.Routine, From: picture.Address(st.Frames[found.Caller].PC),
		Evidence: "its stack is in MPI, in a call of " + found.Routine,
	}
	if found.Inner < 0 {
		c.Lost = append(c.Lost, "arguments (those of Fortran's binding)")
		return c
	}
	a := &mpiArgs{m, st, found.Inner, c, mpi.SignatureOf(found.Routine), false}
	a.read()
	if a.found {
		c.Evidence += "; arguments by the code of the routine and of its caller"
	}
	return c
}

// mpiArgs reads the arguments of one call.
type mpiArgs struct {
	*mpiCalls
	st    *stacks.Stack
	frame int // number of the frame of the C routine
	call  *picture.MPICall
	sig   mpi.Signature
	found bool
}

// value returns an argument, by the frame of the routine or its caller. It notes an argument that neither shows as
// lost.
func (a *mpiArgs) value(arg mpi.Arg, what string) (uint64, bool) {
	const inRegisters = 6
	if arg == 0 {
		return 0, false
	}
	v, ok := uint64(0), false
	if n := int(arg) - 1; n >= inRegisters {
		v, ok = a.onStack(n - inRegisters)
	} else if v, ok = a.flows.EnteredWith(a.st, a.frame, n); !ok {
		if v, ok = a.code.Argument(a.st.Frames[a.frame+1].PC, n, a.st.Frames[a.frame+1].Registers); !ok {
			v, ok = a.flows.Argument(a.st, a.frame+1, n)
		}
	}
	if !ok {
		a.call.Lost = append(a.call.Lost, what)
	}
	a.found = a.found || ok
	return v, ok
}

// onStack returns argument n of those that the caller put on the stack.
func (a *mpiArgs) onStack(n int) (uint64, bool) {
	cfa := a.st.Frames[a.frame].CFA
	if cfa == 0 {
		return 0, false
	}
	v, err := layout.ReadUint(a.target, callbacks.Addr(cfa+8*uint64(n)), 8)
	return v, err == nil
}

// read reads all arguments of the routine.
func (a *mpiArgs) read() {
	world, open := uint64(0), false
	if a.code.Symbols != nil {
		world, open = a.code.Symbols.Lookup(mpi.OpenMPIWorld, "")
	}
	if v, ok := a.value(a.sig.Comm, "communicator"); ok {
		a.communicator(v, world, open)
	}
	if v, ok := a.value(a.sig.Count, "count"); ok {
		n := int64(int32(v))
		a.call.Count = &n
	}
	if v, ok := a.value(a.sig.Type, "type"); ok {
		a.call.Type = a.named(v, open, "type", mpi.MpichType)
	}
	if v, ok := a.value(a.sig.Op, "operation"); ok {
		a.call.Op = a.named(v, open, "operation", mpi.MpichOp)
	}
	if v, ok := a.value(a.sig.Peer, "peer"); ok {
		a.peer(int(int32(v)), open)
	}
	if v, ok := a.value(a.sig.Tag, "tag"); ok {
		tag := int(int32(v))
		if a.call.AnyTag = a.sig.Receives && tag == mpi.AnyTag; !a.call.AnyTag {
			a.call.Tag = &tag
		}
	}
}

// peer notes the other side of an exchange, or the root of a collective.
func (a *mpiArgs) peer(rank int, open bool) {
	any := mpi.MpichAnySource
	if open {
		any = mpi.OpenMPIAnySource
	}
	switch {
	case a.sig.Receives && rank == any:
		a.call.AnySource = true
	case rank >= 0:
		a.call.Peer = &rank
	}
}

// named returns the name of a data type or reduction: that of the object which Open MPI exports for it, or by the
// handle's number in MPICH's ABI.
func (a *mpiArgs) named(v uint64, open bool, what string, mpich func(uint32) string) string {
	name := ""
	if !open {
		name = mpich(uint32(v))
	} else if s, ok := a.exportedData(v); ok {
		rest, isOurs := strings.CutPrefix(strings.TrimPrefix(s, "ompi_mpi_op_"), "ompi_mpi_")
		if isOurs || strings.HasPrefix(s, "ompi_mpi_op_") {
			name = mpi.OpenMPIType("MPI_" + strings.ToUpper(rest))
		}
	}
	if name == "" {
		a.call.Lost = append(a.call.Lost, what)
	}
	return name
}

// exportedData returns the name of the object at an address, as its module exports it.
func (a *mpiArgs) exportedData(addr uint64) (string, bool) {
	s, ok := a.code.Symbols.Data(addr)
	return s.Name, ok && s.Offset == 0
}

// Bounds of the searched part of a communicator and its group in Open MPI, in bytes.
const (
	maxComm     = 1 << 10
	maxGroup    = 64
	maxCommName = 64 // MPI_MAX_OBJECT_NAME
)

// worldComm is the name of the communicator of all ranks.
const worldComm = "MPI_COMM_WORLD"

// communicator adds the name of the communicator of a call, and its number of ranks.
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

// openMPIComm reads communicators of Open MPI. It finds the offsets of their fields in MPI_COMM_WORLD: its name,
// size and rank are known.
type openMPIComm struct {
	target callbacks.Target
	world  uint64
	rank   *picture.Rank // rank of the process in the job; nil if it is unknown
}

// object reads the communicator of all ranks.
func (c openMPIComm) object() []byte {
	b := make([]byte, maxComm)
	if c.target.ReadMemory(callbacks.Addr(c.world), b) != nil {
		return nil
	}
	return b
}

// name returns the name of a communicator, which is in the object, as in Open MPI 4, or in memory that it points
// to, as in Open MPI 5. It is empty if it cannot be read.
func (c openMPIComm) name(v uint64) string {
	env := &environment{target: c.target}
	object := c.object()
	at := v
	if i := bytes.Index(object, []byte(worldComm+"\x00")); i >= 0 {
		at += uint64(i)
	} else if i := c.pointer(object, func(p uint64) bool { return env.cstring(p, maxCommName) == worldComm }); i >= 0 {
		b := make([]byte, 8)
		if c.target.ReadMemory(callbacks.Addr(v+uint64(i)), b) != nil {
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

// pointer returns the offset of the first word of an object that points to a wanted address, or -1.
func (c openMPIComm) pointer(object []byte, wanted func(p uint64) bool) int {
	const word, lowest = 8, 1 << 12
	for i := 0; i+word <= len(object); i += word {
		if p := callbacks.Word(object[i : i+word]); p > lowest && p>>48 == 0 && wanted(p) {
			return i
		}
	}
	return -1
}

// size returns the number of ranks of a communicator, 0 if it is unknown. The group of MPI_COMM_WORLD is the
// memory that its object points to and that contains the size and rank of the process in the job.
func (c openMPIComm) size(v uint64) int {
	if c.rank == nil || c.rank.Size < 2 { // too much memory looks like a group of one rank
		return 0
	}
	group, at := make([]byte, maxGroup), -1
	pair := binary.LittleEndian.AppendUint32(nil, uint32(c.rank.Size))
	pair = binary.LittleEndian.AppendUint32(pair, uint32(c.rank.Rank))
	i := c.pointer(c.object(), func(p uint64) bool {
		if c.target.ReadMemory(callbacks.Addr(p), group) != nil {
			return false
		}
		at = bytes.Index(group, pair)
		return at >= 0 && at%4 == 0
	})
	b := make([]byte, 8)
	if i < 0 || c.target.ReadMemory(callbacks.Addr(v+uint64(i)), b) != nil ||
		c.target.ReadMemory(callbacks.Addr(callbacks.Word(b)+uint64(at)), b) != nil {
		return 0
	}
	size, rank := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if size == 0 || int(size) > c.rank.Size || rank >= size {
		return 0
	}
	return int(size)
}
