package locate

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// marker is a function that a release was the first to export.
type marker struct {
	release int
	symbol  string
}

// markers lists the markers in ascending order of releases.
func markers() []marker {
	return []marker{
		{11, "omp_display_env"}, {13, "__kmpc_masked"}, {14, "__kmpc_scope"},
		{15, "omp_in_explicit_task"}, {16, "__kmpc_omp_taskwait_deps_51"},
		{17, "__kmpc_for_collapsed_init"}, {18, "__kmpc_set_thread_limit"},
		{19, "__kmpc_push_num_threads_list"}, {21, "omp_get_submemspace"}, {22, "omp_get_uid_from_device"},
	}
}

// exported bounds the release by the module's exports. A module without exports may be of any release.
func exported(t callbacks.Target, mod *callbacks.Module) layout.Releases {
	var s layout.Releases
	if !defines(t, mod, "__kmpc_fork_call") {
		return s
	}
	for _, m := range markers() {
		if !defines(t, mod, m.symbol) {
			s.High = m.release - 1
			return s
		}
		s.Low = m.release
	}
	return s
}

// span bounds the release by the matching rows of the table. Releases between two matching rows, and those after
// the newest, are not in the table and may match just as well.
func (fp *fingerprint) span() layout.Releases {
	if !fp.exact {
		return layout.Releases{}
	}
	last := fp.rows[len(fp.rows)-1]
	s := layout.Releases{Low: fp.table.number(fp.rows[0]), High: fp.table.number(last)}
	if last == len(fp.table.Releases)-1 {
		s.High = 0
	}
	return s
}

// pathRelease matches the names that distributions give to a release's directory or file.
var pathRelease = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:llvm|libomp)[-/]?([1-9][0-9])\b`)
})

// Family and FullName are the short and the full name of the runtime.
const Family, FullName = "libomp", "LLVM OpenMP runtime"

// identify names the runtime. The release follows from its exports. If these leave several releases, the path
// decides, and then the matching layouts.
func identify(t callbacks.Target, mod *callbacks.Module, fp *fingerprint) handles.Identity {
	id := handles.Identity{Family: Family, Name: FullName, Module: mod}
	s := exported(t, mod)
	if s != (layout.Releases{}) {
		id.VersionBy = "exported functions"
	}
	refine := func(o layout.Releases, by string) {
		if both := s.Intersect(o); both != s && (s.Low != s.High || s.High == 0) {
			s = both
			id.VersionBy = strings.TrimPrefix(id.VersionBy+" and "+by, " and ")
		}
	}
	if m := pathRelease().FindStringSubmatch(mod.Path); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			refine(layout.Releases{Low: n, High: n}, "path")
		}
	}
	refine(fp.span(), "layout")
	id.Version = s.String()
	return id
}
