package live

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// blockSize is the unit in which memory is copied and cached, in bytes. It divides the page size of
// every architecture, so that a block is mapped completely or not at all. Finding a page takes
// about as long as copying 4 KiB of it; most structures are shorter.
const blockSize = 1024

// maxIovecs is IOV_MAX, the largest number of pieces of one process_vm_readv.
const maxIovecs = 1024

// errProtected is the cause of a fault in memory that the program itself may not read, such as the
// guard below a stack.
var errProtected = errors.New("memory is mapped without read permission")

// errGone is the cause of a fault in a process that ended or executed another program.
var errGone = errors.New("the program no longer exists")

// span is a range of whole blocks: [low, high).
type span struct{ low, high uint64 }

func (s span) size() uint64 { return s.high - s.low }

// remote reads the current memory of another process. It is a callbacks.Memory, safe for concurrent
// use.
type remote struct {
	id    atomic.Int64 // a thread of the process: the first, unless it ended
	file  *os.File     // /proc/ID/mem, which stays with one program even after an exec
	probe uint64       // a mapped address
}

// openRemote asks the kernel for permission to read memory.
func openRemote(id int) (*remote, error) {
	f, err := os.Open(procPath(id, "mem"))
	if err != nil {
		return nil, err
	}
	r := &remote{file: f}
	r.id.Store(int64(id))
	return r, nil
}

// owner returns the id of a thread that has the memory.
func (r *remote) owner() int { return int(r.id.Load()) }

// isGone reports whether the opened program no longer exists.
func (r *remote) isGone() bool {
	n, err := r.file.ReadAt(make([]byte, 1), int64(r.probe))
	return n == 0 && errors.Is(err, io.EOF)
}

// ReadMemory fills p from address a.
func (r *remote) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	for len(p) > 0 {
		n, err := r.read(a.Offset, p)
		if err != nil {
			return &callbacks.FaultError{Address: a, Err: err}
		}
		a, p = a.Add(uint64(n)), p[n:]
	}
	return nil
}

// read reads at least one byte, or explains why it cannot.
func (r *remote) read(a uint64, p []byte) (int, error) {
	local := [1]unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}
	from := [1]unix.RemoteIovec{{Base: uintptr(a), Len: len(p)}}
	n, err := unix.ProcessVMReadv(r.owner(), local[:], from[:], 0)
	switch {
	case n > 0:
		return n, nil
	// A seccomp filter of a container, or the thread has ended.
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ESRCH):
		if n, err = r.file.ReadAt(p, int64(a)); n > 0 {
			return n, nil
		}
	}
	if errors.Is(err, io.EOF) || r.isGone() {
		return 0, errGone
	}
	return 0, callbacks.ErrUnmapped
}

// gather reads spans, one after the other, into buf, in as few system calls as possible. The length of buf is
// the sum of theirs. It returns the blocks that could not be read; their bytes in buf are undefined. It
// allocates only that list, because the program is stopped meanwhile.
func (r *remote) gather(spans []span, buf []byte) (absent []uint64) {
	var pieces [maxIovecs]unix.RemoteIovec
	done := uint64(0) // bytes of spans[0] already read
	for len(spans) > 0 {
		total, n := 0, 0
		for ; n < len(pieces) && n < len(spans); n++ {
			from := spans[n].low
			if n == 0 {
				from += done
			}
			pieces[n] = unix.RemoteIovec{Base: uintptr(from), Len: int(spans[n].high - from)}
			total += pieces[n].Len
		}
		local := [1]unix.Iovec{{Base: &buf[0], Len: uint64(total)}}
		got, err := unix.ProcessVMReadv(r.owner(), local[:], pieces[:n], 0)
		if err != nil {
			got = 0
		}
		got &^= blockSize - 1
		if got < total { // process_vm_readv cannot read that block
			spans, done, buf = advance(spans, done, buf, got)
			if !r.readBlock(spans[0].low+done, buf[:blockSize]) {
				absent = append(absent, spans[0].low+done)
			}
			got = blockSize
		}
		spans, done, buf = advance(spans, done, buf, got)
	}
	return absent
}

// readBlock reads one block on its own.
func (r *remote) readBlock(a uint64, p []byte) bool {
	return r.ReadMemory(callbacks.Addr(a), p) == nil
}

// advance skips n bytes.
func advance(spans []span, done uint64, buf []byte, n int) ([]span, uint64, []byte) {
	buf = buf[n:]
	done += uint64(n)
	for len(spans) > 0 && done >= spans[0].size() {
		done -= spans[0].size()
		spans = spans[1:]
	}
	return spans, done, buf
}
