package live

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// A thread that ran in the rehearsal had no registers, so nothing is known of what an
// answer reads because of where it waits: of the lock, say, for which it spins. That is
// copied unasked, or the process would have to stand still a second time for it.
const (
	// pointingStack is how much of such a thread's stack is looked at for pointers, in
	// bytes: the frames of a runtime's waiting call.
	pointingStack = 1 << 10
	// pointedDepth is how many pointers lead there: from the stack to the program's
	// variable, to what it names, to the lock.
	pointedDepth = 3
	// pointedOfThread and maxPointed bound the blocks that are copied so, for each
	// such thread and for all, so that they do not make the stop longer than a second
	// one would be. Threads mostly point to the same.
	pointedOfThread = 64
	maxPointed      = 512
)

// pointed is memory that threads point to.
type pointed struct {
	copied
	list []mapping
	have []*copied // what is copied anyway
	seen map[uint64]struct{}
	room int // of blocks
}

// add notes the blocks that words point to: writable memory that is not copied yet.
func (p *pointed) add(words []byte) {
	for ; len(words) >= wordSize && p.room > 0; words = words[wordSize:] {
		a := binary.LittleEndian.Uint64(words) &^ (blockSize - 1)
		if a < pageSize || a >= 1<<47 { // no address of a user's
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
		if _, known := c.from(a); known {
			return true
		}
	}
	return false
}

// follow copies what the threads whose stacks were copied into c.moved point to. The
// process stands still.
func (c *memoryCopy) follow(mem *remote, list []mapping, threads []thread) {
	c.known.place()
	c.moved.place()
	have := []*copied{&c.known, &c.moved}
	seen := make(map[uint64]struct{}, maxPointed)
	room := len(c.pointed) / blockSize
	var words []byte
	for i := range threads {
		if t := &threads[i]; t.err == nil && c.stacks[t.lwp] != t.regs.SP() {
			stack, _ := c.moved.from(t.regs.SP() &^ (wordSize - 1))
			words = append(words, stack[:min(len(stack), pointingStack)]...)
		}
	}
	for range pointedDepth {
		p := &pointed{list: list, have: have, seen: seen, room: room}
		p.add(words)
		if len(p.spans) == 0 {
			return
		}
		p.spans = merge(p.spans)
		n := size(p.spans)
		p.buf, c.pointed = c.pointed[:n:n], c.pointed[n:]
		p.absent = mem.gather(p.spans, p.buf)
		p.place()
		have = append(have, &p.copied)
		c.followed = append(c.followed, p.copied)
		words, room = p.buf, p.room
	}
}
