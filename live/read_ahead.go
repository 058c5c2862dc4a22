package live

// nearStack is how far from a waiting thread's stack pointer its frames in the runtime
// reach, and nearPointer how far from its thread pointer the thread-local variables of
// a runtime and what the C library keeps of the thread, in bytes: mostly.
const (
	nearStack   = 1 << 10
	nearPointer = 512
)

// ahead reads at once the pages that an answer is sure to ask for of threads that wait:
// the ends of their stacks, and what is around their thread pointers. That saves some
// system calls a thread; which of it counts as read is decided when it is asked for.
func (r *reader) ahead(threads []thread) {
	pages := blockSet{}
	for _, t := range threads {
		if t.err != nil {
			continue
		}
		sp, tp := t.regs.SP(), t.regs.ThreadPointer
		for _, a := range []uint64{sp, sp + nearStack, tp - nearPointer, tp + nearPointer} {
			base := a &^ (pageSize - 1)
			if m := mappingAt(r.maps, base); m != nil && !m.fixed() {
				pages[base] = 1<<blocksOfPage - 1
			}
		}
	}
	spans := pages.spans()
	if size(spans) > maxAhead {
		return
	}
	c := copied{spans: spans, buf: make([]byte, size(spans))}
	c.absent = r.p.mem.gather(spans, c.buf)
	c.place()
	r.mu.Lock()
	defer r.mu.Unlock()
	for base := range pages {
		if b, _ := c.from(base); len(b) >= pageSize {
			r.pages[base] = page{data: b[:pageSize:pageSize]}
		}
	}
}

// maxAhead bounds what is read ahead, in bytes: 16,000 threads' share.
const maxAhead = 256 << 20
