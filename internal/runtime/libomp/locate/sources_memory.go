package locate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// maxWritable bounds the bytes of a module's writable memory that are searched. The runtime has 64 KiB; an
// executable into which it is linked may have more.
const maxWritable = 64 << 20

// searchChunk is the number of bytes that a search reads at once.
const searchChunk = 64 << 10

// memorySource is the source on top of the writable memory of a stripped runtime. It finds the OMPD description
// by its bit masks, and a few globals by their distance to an exported one.
type memorySource struct {
	ompdTable
	target callbacks.Target
	module *callbacks.Module

	words   map[ompdWord]uint64          // the description
	globals map[string]callbacks.Address // of both kinds
	scanErr error                        // the reason why there is no description
	poolErr error                        // the reason why there are no globals around the exported one
	live    []callbacks.Address          // the first threads
	scanned bool
}

func newMemorySource(t callbacks.Target, mod *callbacks.Module) *memorySource {
	s := &memorySource{target: t, module: mod}
	s.ompdTable.word = s.lookup
	return s
}

// Name returns "memory".
func (s *memorySource) Name() string { return "memory" }

// confirmed reports whether the memory shows both the description and the threads.
func (s *memorySource) confirmed() bool {
	s.scan()
	return s.scanErr == nil && s.poolErr == nil
}

func (s *memorySource) lookup(w ompdWord) (uint64, error) {
	s.scan()
	if v, ok := s.words[w]; ok {
		return v, nil
	}
	if s.scanErr != nil {
		return 0, s.scanErr
	}
	return 0, layout.ErrUnknown
}

// Global returns a variable with a confirmed address.
func (s *memorySource) Global(name string) (uint64, error) {
	s.scan()
	if a, ok := s.globals[name]; ok {
		return a.Offset, nil
	}
	if _, related := poolRelation()[name]; related && s.poolErr != nil {
		return 0, s.poolErr
	}
	return 0, layout.ErrUnknown
}

// scan searches once.
func (s *memorySource) scan() {
	if s.scanned {
		return
	}
	s.scanned = true
	s.globals = map[string]callbacks.Address{}
	parts := writable(s.target, s.module)
	s.scanErr = s.findDescription(parts)
	s.poolErr = s.findThreads(parts)
}

// maskValues lists the bit masks of the description, in its order.
func maskValues() []uint64 {
	return []uint64{2, 1, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24}
}

// needle returns the bytes of the description's masks in memory.
func needle() []byte {
	var b []byte
	for _, mask := range maskValues() {
		b = binary.LittleEndian.AppendUint64(b, mask)
	}
	return b
}

// findDescription searches for the masks and reads the words around them.
func (s *memorySource) findDescription(parts []callbacks.Mapping) error {
	names := ompdWords()
	pattern := needle()
	before := 0 // words before the masks
	for names[before].kind != "bitfield" {
		before++
	}
	var hits []callbacks.Address
	search(s.target, parts, len(pattern), func(low callbacks.Address, data []byte) {
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], pattern)
			if i < 0 {
				return
			}
			if at += i; low.Add(uint64(at)).Offset%8 == 0 {
				hits = append(hits, low.Add(uint64(at)))
			}
		}
	})
	if len(hits) == 0 {
		return fmt.Errorf("no OMPD description in the runtime's memory: %w", layout.ErrUnknown)
	}
	if len(hits) > 1 {
		return fmt.Errorf("%d OMPD descriptions in the runtime's memory, at %v and %v", len(hits), hits[0], hits[1])
	}
	low := hits[0].Add(-uint64(before) * 8)
	globals := ompdGlobals()
	r := layout.ReadSize(s.target, low, uint64(len(names)+len(globals))*8)
	words := make(map[ompdWord]uint64, len(names))
	for i, name := range names {
		words[name] = r.Uint(layout.Field{Offset: uint64(i) * 8, Size: 8})
	}
	if r.Err() != nil {
		return fmt.Errorf("OMPD description at %v: %w", low, r.Err())
	}
	if err := checkDescription(words); err != nil {
		return fmt.Errorf("OMPD description at %v: %w", low, err)
	}
	s.setDescription(low, words)
	return nil
}

// setDescription sets the description, which starts at low.
func (s *memorySource) setDescription(low callbacks.Address, words map[ompdWord]uint64) {
	s.words = words
	for i, name := range ompdGlobals() {
		s.globals[name] = low.Add(uint64(len(words)+i) * wordBytes)
	}
}

// checkDescription returns an error if the description contradicts itself.
func checkDescription(words map[ompdWord]uint64) error {
	t := ompdTable{word: func(w ompdWord) (uint64, error) {
		if v, ok := words[w]; ok {
			return v, nil
		}
		return 0, layout.ErrUnknown
	}}
	for _, n := range []struct{ typ, field, inside string }{
		{"kmp_info_t", "th", "kmp_info_t"},
		{"kmp_info_t", "th.th_current_task", "kmp_info_t"},
		{"kmp_info_t", "th.ompt_thread_info.wait_id", "kmp_info_t"},
		{"kmp_taskdata_t", "td_icvs.default_device", "kmp_taskdata_t"},
		{"kmp_taskdata_t", "ompt_task_info.task_data", "kmp_taskdata_t"},
		{"kmp_task_t", "routine", "kmp_task_t"},
	} {
		f, err := t.Field(n.typ, n.field)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", n.typ, n.field, errors.Join(errGarbage, err))
		}
		if whole, err := t.Type(n.inside); err != nil || f.End() > whole.Size {
			return fmt.Errorf("%s.%s at %v is not inside of %d bytes: %w", n.typ, n.field, f, whole.Size, errGarbage)
		}
	}
	for _, start := range []ompdWord{{"access", "kmp_info_t", "th"}, {"access", "kmp_root_t", "r"},
		{"access", "kmp_team_p", "t"}} {
		if words[start] != 0 {
			return fmt.Errorf("%s is %d: %w", start.symbol(), words[start], errGarbage)
		}
	}
	return nil
}

// errGarbage means that memory only resembled the description.
var errGarbage = errors.New("the OMPD description contradicts itself")

// aroundPool is the number of bytes that are searched on both sides of the exported variable if the target does
// not list its mappings; it is four times the size of the runtime's writable memory.
const aroundPool = 256 << 10

// writable returns the writable parts of a module's memory.
func writable(t callbacks.Target, mod *callbacks.Module) []callbacks.Mapping {
	lister, ok := t.(callbacks.MappingLister)
	if !ok {
		a, err := layout.SymbolIn(t, mod, "__kmp_thread_pool")
		if err != nil {
			return nil
		}
		low := max(a.Offset, aroundPool) - aroundPool
		return []callbacks.Mapping{{Low: callbacks.Addr(low), High: a.Add(aroundPool)}}
	}
	var out []callbacks.Mapping
	for _, m := range lister.Mappings() {
		if m.Perm&callbacks.PermWrite != 0 && m.Low.Offset < mod.High.Offset && m.High.Offset > mod.Low.Offset {
			m.Low.Offset = max(m.Low.Offset, mod.Low.Offset)
			m.High.Offset = min(m.High.Offset, mod.High.Offset)
			out = append(out, m)
		}
	}
	return out
}

// search passes the readable chunks of parts to see. Chunks overlap by width-1 bytes, so that every sequence of
// width bytes is seen once. A chunk is valid only during the call.
func search(mem callbacks.Memory, parts []callbacks.Mapping, width int, see func(low callbacks.Address, data []byte)) {
	budget := uint64(maxWritable)
	buf := make([]byte, 0, width)
	for _, p := range parts {
		for low := p.Low; low.Offset < p.High.Offset && budget > 0; {
			n := min(p.High.Sub(low), searchChunk+uint64(width)-1, budget)
			buf = slices.Grow(buf[:0], int(n))
			data, step := readable(mem, low, buf[:n])
			step = min(step, searchChunk)
			see(low, data)
			budget -= min(budget, step)
			low = low.Add(step)
		}
	}
}

// readable reads p from low as far as possible. next is the address at which to continue: after p, or after the
// page that could not be read.
func readable(mem callbacks.Memory, low callbacks.Address, p []byte) (data []byte, next uint64) {
	err := mem.ReadMemory(low, p)
	if err == nil {
		return p, uint64(len(p))
	}
	good := uint64(0)
	if fault := (*callbacks.FaultError)(nil); errors.As(err, &fault) && fault.Address.Sub(low) < uint64(len(p)) {
		good = fault.Address.Sub(low)
	}
	next = good + pageSize - (low.Offset+good)%pageSize
	if good == 0 || mem.ReadMemory(low, p[:good]) != nil {
		return nil, next
	}
	return p[:good], next
}

// pageSize is the smallest unit of unreadable memory.
const pageSize = 4096
