package live

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// A thread that ran during the rehearsal had no registers, so the rehearsal did not read the memory
// that its wait depends on, such as the lock for which it spins. That memory is copied in advance;
// otherwise the process would have to stop a second time.
const (
	// pointingStack is the part of such a thread's stack that is searched for pointers, in bytes:
	// the frames of a runtime's waiting call.
	pointingStack = 1 << 10
	// pointedDepth is the number of pointers that are followed: from the stack to the program's
	// variable, to its value, to the lock.
	pointedDepth = 3
	// pointedOfThread and maxPointed bound the blocks that are copied for each such thread and for
	// all, so that they do not make the stop longer than a second one would be. Most threads point
	// to the same blocks.
	pointedOfThread = 64
	maxPointed      = 512
)

// pointed is the memory to which threads point.
type pointed struct {
	copied
	list []mapping
	have []*copied // copies made anyway
	seen map[uint64]struct{}
	room int // in blocks
}

// addBlocks adds the blocks that words point to: writable memory that is not copied yet.
func (p *pointed) addBlocks(words []byte) {
	for ; len(words) >= wordSize && p.room > 0; words = words[wordSize:] {
		a := binary.LittleEndian.Uint64(words) &^ (blockSize - 1)
		if a < pageSize || a >= 1<<47 { // not a user address
			continue
		}
		if _, known := p.seen[a]; known {
			continue
		}
		p.seen[a] = struct{}{}
		if m := mappingAt(p.list, a); m == nil || m.Perm&callbacks.PermWrite == 0 || p.copiedAlready(a) {
			continue
		}
		p.spans = append(p.spans, span{a, a + blockSize})
		p.room--
	}
}

func (p *pointed) copiedAlready(a uint64) bool {
	for _, c := range p.have {
		if _, known := c.bytesAt(a); known {
			return true
		}
	}
	return false
}

// copyPointed copies the memory that the stacks in c.moved point to. The process is stopped.
func (c *memoryCopy) copyPointed(mem *remote, list []mapping, threads []thread) {
	c.known.setOffsets()
	c.moved.setOffsets()
	have := []*copied{&c.known, &c.moved}
	seen := make(map[uint64]struct{}, maxPointed)
	room := len(c.pointed) / blockSize
	var words []byte
	for i := range threads {
		if t := &threads[i]; t.err == nil && c.stacks[t.lwp] != t.regs.SP() {
			stack, _ := c.moved.bytesAt(t.regs.SP() &^ (wordSize - 1))
			words = append(words, stack[:min(len(stack), pointingStack)]...)
		}
	}
	for range pointedDepth {
		p := &pointed{list: list, have: have, seen: seen, room: room}
		p.addBlocks(words)
		if len(p.spans) == 0 {
			return
		}
		p.spans = merge(p.spans)
		n := totalSize(p.spans)
		p.buf, c.pointed = c.pointed[:n:n], c.pointed[n:]
		p.absent = mem.gather(p.spans, p.buf)
		p.setOffsets()
		have = append(have, &p.copied)
		c.followed = append(c.followed, p.copied)
		words, room = p.buf, p.room
	}
}
