package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sizeValue is a flag for a number of bytes: 512MB, 2GB, or plain bytes; 0 means unlimited.
type sizeValue int64

// sizeUnits lists the suffixes of a size. They are powers of two, as in other tools of this field.
var sizeUnits = []struct {
	name  string
	shift int
}{{"GIB", 30}, {"GB", 30}, {"G", 30}, {"MIB", 20}, {"MB", 20}, {"M", 20}, {"KIB", 10}, {"KB", 10}, {"K", 10}}

// String returns the size as it can be typed.
func (v *sizeValue) String() string {
	switch n := int64(*v); {
	case n > 0 && n%(1<<30) == 0:
		return fmt.Sprintf("%dGB", n>>30)
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMB", n>>20)
	}
	return strconv.FormatInt(int64(*v), 10)
}

// Set parses a size.
func (v *sizeValue) Set(s string) error {
	number, shift := strings.ToUpper(s), 0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, shift = rest, u.shift
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size, such as 512MB or 2GB", s)
	}
	*v = sizeValue(n << shift)
	return nil
}

// Type returns the word for the value in the help.
func (v *sizeValue) Type() string { return "size" }

// limit returns the size for engine.Options.MaxMemory, in which 0 means the default.
func (v sizeValue) limit() int64 {
	if v == 0 {
		return -1
	}
	return int64(v)
}

// Address space that this process needs, in bytes. The Go runtime reserves most of it before main starts, and
// aborts if there is less.
const (
	reservedSpace = 704 << 20
	leastMemory   = 96 << 20 // the rest, with which most targets can be read
)

// addressSpace returns the part of ulimit -v that is left for targets, in bytes; MaxInt64 without a limit.
func addressSpace() int64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &l); err != nil || l.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(l.Cur) - reservedSpace
}

// checkAddressSpace returns an error if the address space is too small, so that the tool does not fail in the
// middle.
func (c Command) checkAddressSpace() error {
	if left := addressSpace(); c.Alone && left < leastMemory {
		return fmt.Errorf("the address space is limited to %d MiB (ulimit -v): this program needs %d; bound its "+
			"memory by --max-memory",
			(left+reservedSpace)>>20, (reservedSpace+leastMemory)>>20)
	}
	return nil
}

// boundBy returns the limit, reduced to fit into an address space.
func (v sizeValue) boundBy(space int64) int64 {
	if n := v.limit(); n >= 0 && n <= space || space == math.MaxInt64 {
		return n
	}
	return max(space, 1)
}
