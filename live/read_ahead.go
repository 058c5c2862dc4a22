package live

// nearStack is the usual distance from a waiting thread's stack pointer to its frames in the
// runtime, in bytes. nearPointer is the usual distance from its thread pointer to the runtime's
// thread-local variables and to the C library's data of the thread.
const (
	nearStack   = 1 << 10
	nearPointer = 512
)

// readAhead reads in one batch the pages of waiting threads that an answer usually reads: the ends of
// their stacks, and the memory around their thread pointers. That saves some system calls for each
// thread. A page counts as read only when it is requested.
func (r *reader) readAhead(threads []thread) {
	pages := blockSet{}
	for _, t := range threads {
		if t.err != nil {
			continue
		}
		sp, tp := t.regs.SP(), t.regs.ThreadPointer
		for _, a := range []uint64{sp, sp + nearStack, tp - nearPointer, tp + nearPointer} {
			base := a &^ (pageSize - 1)
			if m := mappingAt(r.maps, base); m != nil && !m.isFixed() {
				pages[base] = 1<<blocksOfPage - 1
			}
		}
	}
	spans := pages.spans()
	if totalSize(spans) > maxAhead {
		return
	}
	c := copied{spans: spans, buf: make([]byte, totalSize(spans))}
	c.absent = r.p.mem.gather(spans, c.buf)
	c.setOffsets()
	r.mu.Lock()
	defer r.mu.Unlock()
	for base := range pages {
		if b, _ := c.bytesAt(base); len(b) >= pageSize {
			r.pages[base] = page{data: b[:pageSize:pageSize]}
		}
	}
}

// maxAhead bounds the memory that is read ahead, in bytes: the share of 16,000 threads.
const maxAhead = 256 << 20
