package libomp

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// marker is a function that the runtime exports since a release.
type marker struct {
	release int
	symbol  string
}

// markers are in ascending order of releases.
func markers() []marker {
	return []marker{
		{15, "omp_in_explicit_task"}, {16, "__kmpc_omp_taskwait_deps_51"},
		{19, "__kmpc_push_num_threads_list"}, {22, "omp_get_uid_from_device"},
	}
}

// span is a range of releases, both ends included; high 0 is open.
type span struct{ low, high int }

// and is the overlap of two spans, or s if they have none.
func (s span) and(o span) span {
	both := span{max(s.low, o.low), min(s.high, o.high)}
	if s.high == 0 || o.high == 0 {
		both.high = max(s.high, o.high)
	}
	if both.high != 0 && both.low > both.high {
		return s
	}
	return both
}

// String is "16", "14-15", "22 or newer", "14 or older", or empty if it can be
// any.
func (s span) String() string {
	switch {
	case s.high == 0 && s.low == 0:
		return ""
	case s.high == 0:
		return fmt.Sprintf("%d or newer", s.low)
	case s.low == 0:
		return fmt.Sprintf("%d or older", s.high)
	case s.low == s.high:
		return strconv.Itoa(s.low)
	}
	return fmt.Sprintf("%d-%d", s.low, s.high)
}

// exported bounds the release by what the module exports. A module that exports
// nothing can be of any.
func exported(t callbacks.Target, mod *callbacks.Module) span {
	var s span
	if !defines(t, mod, "__kmpc_fork_call") {
		return s
	}
	for _, m := range markers() {
		if !defines(t, mod, m.symbol) {
			s.high = m.release - 1
			return s
		}
		s.low = m.release
	}
	return s
}

// span bounds the release by the rows of the table that fit. Releases between
// two that fit, and those after the newest, are not in the table and may fit
// just as well.
func (fp *fingerprint) span() span {
	if !fp.exact {
		return span{}
	}
	last := fp.rows[len(fp.rows)-1]
	s := span{fp.table.number(fp.rows[0]), fp.table.number(last)}
	if last == len(fp.table.Releases)-1 {
		s.high = 0
	}
	return s
}

// pathRelease is how distributions name the directory or the file of a release.
var pathRelease = regexp.MustCompile(`(?:llvm|libomp)[-/]?([1-9][0-9])\b`)

// identify names the runtime. The release is concluded from what it exports;
// where that leaves several, from its path, and then from the layouts that fit.
func identify(t callbacks.Target, mod *callbacks.Module, fp *fingerprint) rtl.Identity {
	id := rtl.Identity{Family: "libomp", Name: "LLVM OpenMP runtime", Module: mod}
	s := exported(t, mod)
	if s != (span{}) {
		id.VersionBy = "exported functions"
	}
	refine := func(o span, by string) {
		if both := s.and(o); both != s && (s.low != s.high || s.high == 0) {
			s = both
			id.VersionBy = strings.TrimPrefix(id.VersionBy+" and "+by, " and ")
		}
	}
	if m := pathRelease.FindStringSubmatch(mod.Path); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			refine(span{n, n}, "path")
		}
	}
	refine(fp.span(), "layout")
	id.Version = s.String()
	return id
}
