package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// ErrNotStopped means that the operation needs a stopped process.
var ErrNotStopped = errors.New("it is not stopped")

// Register sets in a core, in addition to the general-purpose registers.
const (
	ntPRFPReg   = 2
	ntX86XState = 0x202
)

// maxRegisterSet bounds a set of registers, in bytes: AVX-512 and AMX together have 11 KiB.
const maxRegisterSet = 64 << 10

// WriteCore writes a core of a process that Stop stopped into an empty file.
// /proc/PID/coredump_filter selects the memory; only pages that were ever used take room in the
// file. d is the fatal signal; nil if the process is alive. The error is an *Error with
// ErrNotStopped, or that of the file.
func (p *Process) WriteCore(f *os.File, d *Death) error {
	h := p.currentHold()
	if h == nil {
		return &Error{PID: p.pid, Err: ErrNotStopped}
	}
	c := &corefile.Contents{Arch: p.arch, Memory: p.mem, Process: p.processContents()}
	h.ask(func(t *tracer) { c.Threads = t.threadContents() })
	if len(c.Threads) == 0 {
		return &Error{PID: p.pid, Err: ErrExited}
	}
	if d != nil {
		c.Signal = d.info[:]
		if i := slices.IndexFunc(c.Threads, func(t corefile.ThreadContents) bool { return t.LWP == d.LWP }); i >= 0 {
			c.Threads[i].Signal = d.Signal
			c.Threads[0], c.Threads[i] = c.Threads[i], c.Threads[0]
		}
	}
	var err error
	if c.Auxv, err = os.ReadFile(procPath(p.mem.owner(), "auxv")); err != nil {
		return p.explainRefusal(err)
	}
	if c.Segments, err = p.coreSegments(); err != nil {
		return p.explainRefusal(err)
	}
	return corefile.Write(f, c)
}

// WriteParts writes a core with some ranges of memory, and the page of each mapped file that
// identifies it, into an empty file; all ranges but the first come last. The process is stopped, or
// about to end: then the core has no registers.
func WriteParts(p *Process, f *os.File, parts []corefile.Range) error {
	c := &corefile.Contents{Arch: p.arch, Memory: p.mem, Process: p.processContents(), Recording: true}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		c.Moment = now.Nano()
	}
	if h := p.currentHold(); h != nil {
		h.ask(func(t *tracer) { c.Threads = t.threadContents() })
	}
	if len(c.Threads) == 0 {
		c.Threads = []corefile.ThreadContents{{LWP: p.pid, Regs: make([]byte, arch.Of(p.arch).RegsSize)}}
	}
	var err error
	if c.Auxv, err = os.ReadFile(procPath(p.mem.owner(), "auxv")); err != nil {
		return p.explainRefusal(err)
	}
	pages, err := os.Open(procPath(p.mem.owner(), "pagemap"))
	if err != nil {
		return p.explainRefusal(err)
	}
	defer pages.Close()
	maps, err := readSmaps(p.mem.owner())
	if err != nil {
		return p.explainRefusal(err)
	}
	for _, m := range maps {
		if m.name == "[vsyscall]" {
			continue
		}
		s := corefile.Segment{Mapping: m.Mapping}
		for i, part := range parts {
			if low, high := max(m.Low.Offset, part.Low), min(m.High.Offset, part.High); low < high {
				s.Pieces = append(s.Pieces, usedPages(pages, low, high)...)
				s.Late = s.Late || i > 0
			}
		}
		if len(s.Pieces) == 0 && m.File != "" && m.FileOffset == 0 && m.Perm != 0 {
			s.Pieces = []corefile.Range{{Low: m.Low.Offset, High: m.Low.Offset + pageSize}}
		}
		c.Segments = append(c.Segments, s)
	}
	return corefile.Write(f, c)
}

// threadContents returns the registers of all stopped threads.
func (t *tracer) threadContents() []corefile.ThreadContents {
	var list []corefile.ThreadContents
	for _, k := range t.tasks {
		if k.state != stopped || k.err != nil {
			continue
		}
		c := corefile.ThreadContents{LWP: k.tid, Regs: bytes.Clone(k.regs[:k.have])}
		for _, set := range []uint32{ntPRFPReg, ntX86XState, ntARMTLS, ntARMSystemCall, ntARMPACMask} {
			b := make([]byte, maxRegisterSet)
			if n, err := getRegs(k.tid, uintptr(set), b); err == nil {
				c.Sets = append(c.Sets, corefile.RegisterSet{Type: set, Data: b[:n]})
			}
		}
		list = append(list, c)
	}
	return list
}

func (o *opened) processContents() corefile.ProcessContents {
	c := corefile.ProcessContents{PID: o.pid, UID: o.info.UID, State: o.info.State, Name: o.info.Name,
		Args: strings.Join(o.info.Command, " ")}
	if fields, err := statFields(procPath(o.mem.owner(), "stat")); err == nil {
		const ppid = 4 - statState
		c.PPID, c.PGID, c.SID = parseNumber(fields[ppid]), parseNumber(fields[ppid+1]), parseNumber(fields[ppid+2])
	}
	return c
}

// Bits of /proc/PID/coredump_filter (core(5)).
const (
	dumpAnonymousPrivate = 1 << iota
	dumpAnonymousShared
	dumpFilePrivate
	dumpFileShared
	dumpELFHeaders
	dumpHugePrivate
	dumpHugeShared
)

// defaultFilter is the kernel's default value of coredump_filter.
const defaultFilter = dumpAnonymousPrivate | dumpAnonymousShared | dumpELFHeaders | dumpHugePrivate

// coreSegments returns the mappings, each with the ranges that belong in a core.
func (o *opened) coreSegments() ([]corefile.Segment, error) {
	id := o.mem.owner()
	filter := uint64(defaultFilter)
	if b, err := os.ReadFile(procPath(id, "coredump_filter")); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 16, 64); err == nil {
			filter = n
		}
	}
	pages, err := os.Open(procPath(id, "pagemap"))
	if err != nil {
		return nil, err
	}
	defer pages.Close()
	maps, err := readSmaps(id)
	if err != nil {
		return nil, err
	}
	var list []corefile.Segment
	for _, m := range maps {
		if m.name == "[vsyscall]" {
			continue
		}
		s := corefile.Segment{Mapping: m.Mapping}
		low, high := m.Low.Offset, m.High.Offset
		switch dumped := m.isDumped(filter); {
		case dumped && m.isZeroUnused():
			s.Pieces = usedPages(pages, low, high)
		case dumped:
			s.Pieces = []corefile.Range{{Low: low, High: high}}
		case m.File != "" && m.FileOffset == 0 && m.Perm != 0 && filter&dumpELFHeaders != 0:
			s.Pieces = []corefile.Range{{Low: low, High: low + pageSize}}
		}
		list = append(list, s)
	}
	return list, nil
}

// dumpMapping is a mapping with its properties from smaps.
type dumpMapping struct {
	mapping
	anonymous bool // it has private pages
	huge      bool
	never     bool // of a device, or excluded by madvise(2)
}

// isDumped reports whether a core includes the memory of a mapping.
func (m *dumpMapping) isDumped(filter uint64) bool {
	bit := func(b uint64) bool { return filter&b != 0 }
	switch {
	case m.name == "[vdso]":
		return true
	case m.never:
		return false
	case m.huge && m.shared:
		return bit(dumpHugeShared)
	case m.huge:
		return bit(dumpHugePrivate)
	case m.shared && (m.File == "" || strings.HasSuffix(m.File, deletedSuffix)):
		return bit(dumpAnonymousShared)
	case m.shared:
		return bit(dumpFileShared)
	case m.anonymous:
		return bit(dumpAnonymousPrivate)
	}
	return m.File != "" && bit(dumpFilePrivate)
}

// isZeroUnused reports whether pages of the mapping that were never used are zero.
func (m *dumpMapping) isZeroUnused() bool {
	return m.File == "" && !m.shared && !m.huge && m.name != "[vdso]"
}

// readSmaps reads the mappings with their properties.
func readSmaps(id int) ([]dumpMapping, error) {
	b, err := os.ReadFile(procPath(id, "smaps"))
	if err != nil {
		return nil, err
	}
	var list []dumpMapping
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ":")
		words := strings.Fields(value)
		switch {
		case strings.Contains(key, " "): // starts another mapping
			m, err := parseMapping(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", procPath(id, "smaps"), err)
			}
			list = append(list, dumpMapping{mapping: m})
		case len(list) == 0 || len(words) == 0:
		case key == "Anonymous" || key == "Swap":
			m := &list[len(list)-1]
			m.anonymous = m.anonymous || parseNumber(words[0]) > 0
		case key == "VmFlags":
			m := &list[len(list)-1]
			m.never = slices.Contains(words, "io") || slices.Contains(words, "dd")
			m.huge = slices.Contains(words, "ht")
		}
	}
	return list, nil
}

// usedPages returns the ranges of pages that are in memory or swapped out.
func usedPages(pages io.ReaderAt, low, high uint64) []corefile.Range {
	const entry, window, present, swapped = 8, 4096, 1 << 63, 1 << 62
	size := uint64(os.Getpagesize())
	var list []corefile.Range
	buf := make([]byte, window*entry)
	for a := low; a < high; {
		n := min((high-a)/size, window)
		if _, err := pages.ReadAt(buf[:n*entry], int64(a/size*entry)); err != nil {
			return append(list, corefile.Range{Low: a, High: high}) // unknown: all
		}
		for i := range n {
			if binary.LittleEndian.Uint64(buf[i*entry:])&(present|swapped) != 0 {
				at := a + i*size
				if last := len(list) - 1; last >= 0 && list[last].High == at {
					list[last].High += size
				} else {
					list = append(list, corefile.Range{Low: at, High: at + size})
				}
			}
		}
		a += n * size
	}
	return list
}
