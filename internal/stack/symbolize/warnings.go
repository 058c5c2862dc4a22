package symbolize

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Warnings returns texts on missing debug information where source lines were requested, and on
// files that were found but not used, each with the fix. Each is given once; modules that lack the
// same share one. lineless reports whether users cannot install a module's debug information; it may be nil.
func (s *Symbolizer) Warnings(lineless func(*callbacks.Module) bool) []string {
	var list, missing []string
	without := map[*module]bool{} // lineless may read modules, which locks them
	for _, m := range s.modules {
		without[m] = lineless != nil && lineless(m.mod)
	}
	for _, m := range s.modules {
		m.mu.Lock()
		list = append(list, m.notes...)
		if err := m.damageError(); err != nil {
			list = append(list, fmt.Sprintf("%s: %v: some functions and lines are missing; build or install it again",
				m.mod.Path, err))
		}
		if m.vars != nil && m.vars.split != "" {
			list = append(list, fmt.Sprintf("%s: no names of members and elements, and no inlined calls: they are in "+
				"%s and the like (.dwo), which are not read; build without -gsplit-dwarf", m.mod.Path,
				path.Base(m.vars.split)))
		}
		switch {
		// The kernel's vdso has no debug information anywhere.
		case !m.wantLines || m.dwarfData() != nil || m.mod.Path == "[vdso]":
		case m.fileErr == nil && without[m]:
		case m.fileErr != nil:
			list = append(list, fmt.Sprintf("%s: no functions and lines: %v", m.mod.Path, m.fileErr))
		case m.mod.Main:
			list = append(list, fmt.Sprintf("%s: no source lines: it has no debug information; compile it with -g",
				m.mod.Path))
		default:
			missing = append(missing, path.Base(m.mod.Path))
		}
		m.mu.Unlock()
	}
	if len(missing) > 0 {
		list = append(list, fmt.Sprintf("%s: no source lines: no debug information, also not in %s; install the "+
			"debug packages%s",
			strings.Join(missing, ", "), strings.Join(s.finder.dirs, ", "), s.finder.servers.advice()))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// advice returns help other than debug packages.
func (s *servers) advice() string {
	if len(s.URLs) > 0 {
		return ""
	}
	return " or set DEBUGINFOD_URLS"
}
