package libgomp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

const (
	// tlsWindow is the distance from the thread pointer in which gomp_tls_data is searched, in bytes.
	// Initial-exec variables of all libraries share this space; few programs use more than a few hundred bytes
	// of it.
	tlsWindow = 8192
	// maxWitnesses bounds the number of threads with examined memory.
	maxWitnesses = 256
	// maxTeamSize bounds the number of threads in a team: Linux has at most 4 Mi threads (PID_MAX_LIMIT).
	maxTeamSize = 4 << 20
	// maxNesting bounds the nesting depth of regions. Each level has frames on a stack, so a program cannot
	// reach it.
	maxNesting = 4096
	// lowestAddress is the lowest possible address of a program's memory: Linux maps nothing in the
	// first page.
	lowestAddress = 4096
)

// memorySource uses the live data of threads. It recognizes a gomp_thread in a team of n threads by the
// invariants between the thread, its team and the team's implicit tasks, for one row of the layout table and one
// distance from the thread pointer. The source provides the fields in these invariants.
type memorySource struct {
	target callbacks.Target
	hint   func() (uint64, error) // distance from other sources; may be nil

	looked bool
	err    error
	table  *table
	tls    uint64
	rows   []int // rows that fit
	hits   int   // number of threads that show it
}

func newMemorySource(t callbacks.Target, hint func() (uint64, error)) *memorySource {
	return &memorySource{target: t, hint: hint}
}

// Name returns "memory".
func (s *memorySource) Name() string { return "memory" }

// testedFields returns the fields that occur in the invariants.
func testedFields() []fieldName {
	return []fieldName{
		fieldOf("gomp_thread", "ts.team"), fieldOf("gomp_thread", "ts.team_id"), fieldOf("gomp_thread", "ts.level"),
		fieldOf("gomp_thread", "release"),
		fieldOf("gomp_team", ""), fieldOf("gomp_team", "nthreads"), fieldOf("gomp_team", "barrier.total"),
		fieldOf("gomp_team", "master_release"),
		fieldOf("gomp_team", "ordered_release"), fieldOf("gomp_task", ""), fieldOf("gomp_task", "kind"),
	}
}

// Field returns the offset of a field that occurs in the invariants.
func (s *memorySource) Field(typ, field string) (layout.Field, error) {
	return s.place(fieldOf(typ, field))
}

// Type returns the size of a structure that occurs in the invariants.
func (s *memorySource) Type(typ string) (layout.Type, error) {
	f, err := s.place(fieldOf(typ, ""))
	return layout.Type{Size: f.Size}, err
}

// Global returns the distance of gomp_tls_data from the thread pointer.
func (s *memorySource) Global(name string) (uint64, error) {
	if name != "gomp_tls_data" {
		return 0, layout.ErrUnknown
	}
	err := s.look()
	return s.tls, err
}

func (s *memorySource) place(n fieldName) (layout.Field, error) {
	if !slices.Contains(testedFields(), n) {
		return layout.Field{}, layout.ErrUnknown
	}
	if err := s.look(); err != nil {
		return layout.Field{}, err
	}
	f := s.table.Places[n][s.rows[0]]
	for _, row := range s.rows[1:] {
		if s.table.Places[n][row] != f {
			return layout.Field{}, layout.ErrUnknown
		}
	}
	return f, nil
}

// allows reports whether the memory permits a row of the table.
func (s *memorySource) allows(row int) bool { return s.look() != nil || slices.Contains(s.rows, row) }

// look finds the distance and the rows, once. It tries a distance from other sources first, and all other
// distances if no thread confirms it.
func (s *memorySource) look() error {
	if s.looked {
		return s.err
	}
	s.looked = true
	if s.table, s.err = parseTable(); s.err != nil {
		return s.err
	}
	lwps, err := listThreads(s.target)
	if err != nil {
		s.err = fmt.Errorf("%w: %v", layout.ErrUnknown, err)
		return s.err
	}
	lwps = lwps[:min(len(lwps), maxWitnesses)]
	if s.hint != nil {
		if tls, err := s.hint(); err == nil {
			if votes := s.votes(lwps, tls, tls+8); s.elect(votes) {
				return nil
			}
			if !s.used(lwps, tls) {
				s.err = fmt.Errorf("%w: no thread is in a team", layout.ErrUnknown)
				return s.err
			}
		}
	}
	from, to := ^uint64(tlsWindow-1), uint64(0) // -tlsWindow
	if head := arch.Of(s.target.Arch()).HeaderSize; head != 0 {
		from, to = head, tlsWindow
	}
	if !s.elect(s.votes(lwps, from, to)) {
		s.err = fmt.Errorf("%w: no thread's memory shows a team", layout.ErrUnknown)
	}
	return s.err
}

// candidate is a distance from the thread pointer and a row of the table.
type candidate struct {
	tls uint64
	row int
}

// elect selects the distance that most threads show, and all rows with as many votes. A single thread may match
// by accident, but then its candidate must be the only one.
func (s *memorySource) elect(votes map[candidate]int) bool {
	for c, n := range votes {
		if n > s.hits || n == s.hits && cmp.Compare(c.tls, s.tls) > 0 {
			s.tls, s.hits = c.tls, n
		}
	}
	for row := range s.table.rows {
		if n := votes[candidate{s.tls, row}]; n > 0 && n == s.hits {
			s.rows = append(s.rows, row)
		}
	}
	return len(s.rows) > 0
}

// votes counts the threads that show each candidate at distances in [from, to).
func (s *memorySource) votes(lwps []native, from, to uint64) map[candidate]int {
	votes := map[candidate]int{}
	size := s.table.Places[fieldOf("gomp_thread", "")][0].Size
	for _, l := range lwps {
		if l.tp == 0 {
			continue
		}
		low := l.tp + from
		data := make([]byte, to-from+size)
		if to == 0 {
			data = data[:to-from] // thread-local data ends at the thread pointer
		}
		if s.target.ReadMemory(callbacks.Addr(low), data) != nil {
			data = readUpwards(s.target, low, l.tp+to+size)
			low = l.tp + to + size - uint64(len(data))
		}
		for off := 0; off+int(size) <= len(data); off += 8 {
			a := low + uint64(off)
			for row := range s.table.rows {
				if s.hasThreadAt(a, data[off:], row) {
					votes[candidate{a - l.tp, row}]++
				}
			}
		}
	}
	return votes
}

// readUpwards reads the memory in [low, high), except for everything up to the last unreadable page.
func readUpwards(mem callbacks.Memory, low, high uint64) []byte {
	const page = 4096
	if low > high || high-low > maxStack || low+page < low { // an invalid thread pointer wraps around
		return nil
	}
	for at := (low + page) &^ (page - 1); at < high; at += page {
		data := make([]byte, high-at)
		if mem.ReadMemory(callbacks.Addr(at), data) == nil {
			return data
		}
	}
	return nil
}

// hasThreadAt reports whether there is a gomp_thread in a team at a. data is the memory at a.
func (s *memorySource) hasThreadAt(a uint64, data []byte, row int) bool {
	get := func(field string) uint64 {
		f := s.table.Places[fieldOf("gomp_thread", field)][row]
		if f.End() > uint64(len(data)) {
			return 0
		}
		return callbacks.Word(data[f.Offset:f.End()])
	}
	team, id, level := get("ts.team"), get("ts.team_id"), get("ts.level")
	if team < lowestAddress || team&7 != 0 || id >= maxTeamSize || level == 0 || level > maxNesting {
		return false
	}
	of := func(typ, field string) layout.Field { return s.table.Places[fieldOf(typ, field)][row] }
	r := layout.Read(s.target, callbacks.Addr(team), of("gomp_team", "nthreads"), of("gomp_team", "barrier.total"),
		of("gomp_team", "ordered_release"))
	n, ordered := r.Uint(of("gomp_team", "nthreads")), r.Address(of("gomp_team", "ordered_release"))
	tasks := team + of("gomp_team", "").Size
	size := of("gomp_task", "").Size
	switch {
	case r.Err() != nil, n != r.Uint(of("gomp_team", "barrier.total")), n == 0, n > maxTeamSize, id >= n:
		return false
	case ordered.Offset != tasks+n*size:
		return false
	}
	release := a + of("gomp_thread", "release").Offset
	if id == 0 {
		release = team + of("gomp_team", "master_release").Offset
	}
	v, err := layout.ReadUint(s.target, ordered.Add(8*id), 8)
	if err != nil || v != release {
		return false
	}
	kind, err := layout.ReadUint(s.target, callbacks.Addr(tasks+id*size+of("gomp_task", "kind").Offset), 4)
	return err == nil && kind == kindImplicit
}

// used reports whether at least one thread is in a team, if gomp_tls_data is at distance tls.
func (s *memorySource) used(lwps []native, tls uint64) bool {
	for _, l := range lwps {
		team, err := layout.ReadUint(s.target, callbacks.Addr(l.tp+tls+teamInThread), 8)
		if err == nil && l.tp != 0 && team != 0 {
			return true
		}
	}
	return false
}
