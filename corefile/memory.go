package corefile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// region is one mapping of the program. Regions are ascending and do not
// overlap.
type region struct {
	low, high uint64 // [low, high)
	perm      callbacks.Perm
	offset    uint64 // in the core, of the byte at low
	captured  uint64 // bytes that the header claims
	have      uint64 // bytes of captured that the file holds
	file      string // that is mapped here; empty for anonymous memory
	fileOff   uint64 // in file, of the byte at low
}

// errCut is the cause of faults in memory that was cut off.
var errCut = fmt.Errorf("%w: %w", callbacks.ErrNotCaptured, ErrTruncated)

// readRegions lists the segments of the core, and the mapped files for which gcore writes no
// segment.
func (c *Core) readRegions(f *elfx.File, size int64) {
	list := make([]region, 0, min(len(f.Progs()), c.countFitting(f)))
	missing := uint64(0)
	for _, p := range f.Progs() {
		memsz := max(p.Memsz, p.Filesz)
		if p.Type != elf.PT_LOAD || memsz == 0 || p.Vaddr+memsz < p.Vaddr {
			continue
		}
		if len(list) == cap(list) {
			break
		}
		r := region{
			low: p.Vaddr, high: p.Vaddr + memsz, perm: callbacks.Perm(p.Flags & 7),
			offset: p.Off, captured: p.Filesz, have: p.Filesz,
		}
		if p.Off > uint64(size) {
			r.have = 0
		} else {
			r.have = min(p.Filesz, uint64(size)-p.Off)
		}
		missing += r.captured - r.have
		list = append(list, r)
	}
	c.regions = mergeFiles(flatten(list), c.notes.files)
	c.info.Truncated = missing > 0 || c.notes.lost
	switch {
	case c.notes.lost:
		c.warn("the core is truncated within its notes: threads, files and %d bytes of memory are missing; %s", missing,
			fixTruncated)
	case missing > 0:
		c.warn("the core is truncated: %d bytes of memory are missing; %s", missing, fixTruncated)
	}
	if len(c.notes.files) == 0 {
		c.warn("the core has no list of mapped files (NT_FILE note); modules are found through the loader's list alone")
	}
}

// countFitting returns the number of the core's segments for which there is memory.
func (c *Core) countFitting(f *elfx.File) int {
	const each = 3 * uint64(unsafe.Sizeof(region{})) // as read, sorted, and with the files
	n := len(f.Progs())
	for n > 0 && c.memory.Take("segments", uint64(n)*each) != nil {
		n /= 2
	}
	return n
}

// flatten sorts the regions and removes overlaps: where two overlap, the one that starts later
// wins.
func flatten(list []region) []region {
	slices.SortStableFunc(list, func(a, b region) int { return cmp.Compare(a.low, b.low) })
	out := list[:0]
	for _, r := range list {
		for n := len(out); n > 0 && out[n-1].high > r.low; n = len(out) {
			if out[n-1].low < r.low {
				out[n-1].high = r.low
				break
			}
			out = out[:n-1]
		}
		out = append(out, r)
	}
	return out
}

// mergeFiles adds the names of files to regions, and adds the mapped ranges that have no region.
func mergeFiles(list []region, files []callbacks.Mapping) []region {
	out := make([]region, 0, len(list)+len(files))
	for _, m := range files {
		at := m.Low.Offset
		for len(list) > 0 && list[0].high <= at {
			out, list = append(out, list[0]), list[1:]
		}
		for at < m.High.Offset {
			gap := m.High.Offset
			if len(list) > 0 {
				gap = min(gap, max(list[0].low, at))
			}
			if at < gap {
				out = append(out, region{low: at, high: gap, perm: callbacks.PermRead, file: m.File,
					fileOff: m.FileOffset + at - m.Low.Offset})
				at = gap
				continue
			}
			r := list[0]
			r.file, r.fileOff = m.File, m.FileOffset+r.low-m.Low.Offset
			list[0] = r
			if at = r.high; r.high <= m.High.Offset {
				out, list = append(out, r), list[1:]
			}
		}
	}
	return append(out, list...)
}

// setFileRights sets the access rights of mappings that gcore left out to those in their files'
// program headers.
func (c *Core) setFileRights() {
	for i := range c.regions {
		r := &c.regions[i]
		if r.captured > 0 || r.file == "" {
			continue
		}
		if piece, ok := c.mods.PieceAt(callbacks.Addr(r.low)); ok && piece.Offset == r.fileOff && !piece.Writable() {
			r.perm |= piece.Perm
		}
	}
}

// hasWrittenMemory reports whether the core has private memory that was written. If so, missing memory
// of that kind was never written.
func hasWrittenMemory(list []region) bool {
	return slices.ContainsFunc(list, func(r region) bool { return r.perm&callbacks.PermWrite != 0 && r.captured > 0 })
}

// regionAt returns the region that contains address a, or nil.
func (c *Core) regionAt(a uint64) *region {
	i, found := slices.BinarySearchFunc(c.regions, a, func(r region, a uint64) int { return cmp.Compare(r.low, a) })
	if !found {
		i--
	}
	if i < 0 || a >= c.regions[i].high {
		return nil
	}
	return &c.regions[i]
}

// Mappings returns the mappings of the program in ascending order.
func (c *Core) Mappings() []callbacks.Mapping {
	list := make([]callbacks.Mapping, len(c.regions))
	for i, r := range c.regions {
		list[i] = callbacks.Mapping{Low: callbacks.Addr(r.low), High: callbacks.Addr(r.high), Perm: r.perm,
			File:       r.file,
			FileOffset: r.fileOff}
	}
	return list
}

// ReadMemory fills p with the program's memory at address a.
func (c *Core) ReadMemory(a callbacks.Address, p []byte) error { return c.cache.ReadMemory(a, p) }

// Lend returns n bytes of the program's memory at address a, if they are in one block of the cache.
// The caller must not change them. It implements callbacks.Lender.
func (c *Core) Lend(a callbacks.Address, n uint64) []byte { return c.cache.Lend(a, n) }

// memory reads from the core, then from the modules' files.
type memory struct {
	core      *Core
	mods      *modules.Table // nil: only the core
	wroteBack bool           // the core has all private memory that was written
}

// ReadMemory fills p region by region.
func (m *memory) ReadMemory(a callbacks.Address, p []byte) error {
	for len(p) > 0 {
		r := m.core.regionAt(a.Offset)
		if r == nil || a.Segment != 0 {
			return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
		}
		at := a.Offset - r.low
		n := min(uint64(len(p)), r.high-a.Offset)
		var err error
		if at < r.have {
			n, err = m.readCore(r, at, p[:min(n, r.have-at)])
		} else {
			n, err = m.readFile(r, at, p[:n])
		}
		if err != nil {
			return &callbacks.FaultError{Address: a.Add(n), Err: err}
		}
		a, p = a.Add(n), p[n:]
	}
	return nil
}

// readCore reads the bytes of a region that the core has, from address at.
func (m *memory) readCore(r *region, at uint64, p []byte) (uint64, error) {
	n, err := m.core.file.ReadAt(p, int64(r.offset+at))
	if n == len(p) {
		err = nil
	}
	return uint64(n), err
}

// Lend returns n bytes of a module's file, if the program's memory at a is unchanged and missing in
// the core. It implements callbacks.Lender.
func (m *memory) Lend(a callbacks.Address, n uint64) []byte {
	r := m.core.regionAt(a.Offset)
	if r == nil || a.Segment != 0 {
		return nil
	}
	at := a.Offset - r.low
	if at < r.captured || n > r.high-a.Offset {
		return nil
	}
	data, _, err := m.fileBytes(r, at)
	if err != nil || uint64(len(data)) < n {
		return nil
	}
	return data[:n:n]
}

// readFile reads bytes of a region that the core does not have, from address at.
func (m *memory) readFile(r *region, at uint64, p []byte) (uint64, error) {
	data, zero, err := m.fileBytes(r, at)
	switch {
	case err != nil:
		return 0, err
	case len(data) > 0:
		return uint64(copy(p, data)), nil
	}
	n := min(uint64(len(p)), zero)
	clear(p[:n])
	return n, nil
}

// fileBytes returns bytes that the core does not have: the unchanged bytes of a module's file, or the
// number of zeros in a module's zero-initialized data that was never written. No other memory is
// certainly zero: memory can be excluded from cores.
func (m *memory) fileBytes(r *region, at uint64) (data []byte, zero uint64, err error) {
	reason, most := callbacks.ErrNotCaptured, uint64(math.MaxUint64)
	cut := at < r.captured
	if cut {
		reason, most = errCut, r.captured-at
	}
	if m.mods == nil {
		return nil, 0, reason
	}
	piece, ok := m.mods.PieceAt(callbacks.Addr(r.low + at))
	if !ok || (piece.Writable() || r.perm&callbacks.PermWrite != 0) && (cut || !m.wroteBack) {
		return nil, 0, reason
	}
	if data = piece.Data[:min(uint64(len(piece.Data)), most)]; len(data) > 0 {
		if len(m.core.notes.files) > 0 && (r.file == "" || r.fileOff+at != piece.Offset) {
			return nil, 0, reason
		}
		return data, 0, nil
	}
	if piece.Zero > 0 && r.file == "" {
		return nil, min(piece.Zero, most), nil
	}
	return nil, 0, reason
}
