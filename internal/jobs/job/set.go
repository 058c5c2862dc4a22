package job

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// MaxRanks bounds the ranks of a job: the largest machines have ten million cores.
const MaxRanks = 1 << 24

// Set is a set of ranks, in JSON their ranges: "0-3,7". The zero value is empty. Copies share
// the set; Clone makes another.
//
//contract:schema {"type": "string", "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"}
type Set struct{ bits *roaring.Bitmap }

// newSet returns the set of some ranks.
func newSet(ranks ...int) Set {
	var s Set
	for _, r := range ranks {
		s.Add(r)
	}
	return s
}

// Add adds a rank. It ignores a rank that is negative, or not below MaxRanks.
func (s *Set) Add(rank int) { s.addRange(rank, rank) }

func (s *Set) addRange(low, high int) {
	if low < 0 || high >= MaxRanks || low > high {
		return
	}
	if s.bits == nil {
		s.bits = roaring.New()
	}
	s.bits.AddRange(uint64(low), uint64(high)+1)
}

// Len returns the number of ranks.
func (s Set) Len() int {
	if s.bits == nil {
		return 0
	}
	return int(s.bits.GetCardinality())
}

// Contains reports whether a rank is in the set.
func (s Set) Contains(rank int) bool {
	return s.bits != nil && rank >= 0 && rank < MaxRanks && s.bits.Contains(uint32(rank))
}

// First returns the lowest rank, -1 for an empty set.
func (s Set) First() int {
	if s.Len() == 0 {
		return -1
	}
	return int(s.bits.Minimum())
}

// All yields the ranks in ascending order.
func (s Set) All(yield func(int) bool) {
	if s.bits == nil {
		return
	}
	for it := s.bits.Iterator(); it.HasNext(); {
		if !yield(int(it.Next())) {
			return
		}
	}
}

// Clone returns a set of the same ranks that shares no memory.
func (s Set) Clone() Set {
	if s.bits == nil {
		return Set{}
	}
	return Set{s.bits.Clone()}
}

// Union returns the union of two sets.
func (s Set) Union(t Set) Set { return s.combine(t, roaring.Or) }

// Intersect returns the intersection of two sets.
func (s Set) Intersect(t Set) Set { return s.combine(t, roaring.And) }

// Subtract returns the set of the ranks that are not in t.
func (s Set) Subtract(t Set) Set { return s.combine(t, roaring.AndNot) }

func (s Set) combine(t Set, f func(a, b *roaring.Bitmap) *roaring.Bitmap) Set {
	return Set{f(s.orEmpty(), t.orEmpty())}
}

func (s Set) orEmpty() *roaring.Bitmap {
	if s.bits == nil {
		return roaring.New()
	}
	return s.bits
}

// join adds the ranks of t.
func (s *Set) join(t Set) {
	if t.bits != nil {
		s.bits = s.orEmpty()
		s.bits.Or(t.bits)
	}
}

// Equal reports whether two sets contain the same ranks.
func (s Set) Equal(t Set) bool { return s.orEmpty().Equals(t.orEmpty()) }

// String returns the ranks as ranges: "0-3,7".
func (s Set) String() string { return s.Ranges(math.MaxInt) }

// Ranges returns the ranks as at most so many ranges, and the number of the remaining ranks: "0-3,7 and 12
// more".
func (s Set) Ranges(most int) string {
	var b strings.Builder
	pieces, named := 0, 0
	low, high := -1, -2
	flush := func() {
		if low < 0 || pieces == most {
			return
		}
		if pieces++; pieces > 1 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(low))
		if high > low {
			b.WriteString("-" + strconv.Itoa(high))
		}
		named += high - low + 1
	}
	for r := range s.All {
		if r == high+1 && low >= 0 {
			high = r
			continue
		}
		if flush(); pieces == most {
			break
		}
		low, high = r, r
	}
	flush()
	if rest := s.Len() - named; rest > 0 {
		fmt.Fprintf(&b, " and %d more", rest)
	}
	return b.String()
}

// MarshalText returns the form "0-3,7".
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// DecodedSize implements jsonx.Sizer: a short range takes memory for each 64 Ki ranks.
func (*Set) DecodedSize(text []byte) uint64 {
	const perPiece, perContainer = 16, 128
	var size uint64
	for piece := range bytes.SplitSeq(text, []byte(",")) {
		first, last, _ := bytes.Cut(piece, []byte("-"))
		low, _ := strconv.ParseUint(string(first), 10, 32)
		high, _ := strconv.ParseUint(string(last), 10, 32)
		size += perPiece + perContainer
		if high > low {
			size += min(high-low, MaxRanks) >> 16 * perContainer
		}
	}
	return size
}

// UnmarshalText parses the form "0-3,7". Ranks not below MaxRanks are an error.
func (s *Set) UnmarshalText(text []byte) error {
	s.bits = roaring.New()
	for piece := range strings.SplitSeq(string(text), ",") {
		if piece == "" {
			continue
		}
		first, last, isRange := strings.Cut(piece, "-")
		low, err := strconv.ParseUint(first, 10, 32)
		high := low
		if err == nil && isRange {
			high, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || low > high || high >= MaxRanks {
			return fmt.Errorf("ranks %.40q: they must be numbers and ranges below %d, such as 0-3,7", piece, MaxRanks)
		}
		s.bits.AddRange(low, high+1)
	}
	return nil
}
