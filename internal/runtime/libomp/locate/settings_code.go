package locate

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// The runtime has a table of the environment variables that it reads. An entry has the variable's name, the
// function that parses its value, and the function that prints it. These functions are not exported, but the
// variable that the last one reads contains the setting.

// settingRule maps a setting to the runtime's variable that contains it.
type settingRule struct {
	setting  string // environment variable
	variable string // the runtime's
	size     uint8  // bytes; 0 for a structure that starts with a pointer to a list of integers
}

// settingRules lists the settings that no exported function returns.
var settingRules = []settingRule{
	{"OMP_DISPLAY_AFFINITY", "__kmp_display_affinity", 4},
	{"OMP_TOOL", "__kmp_tool", 4},
	{"OMP_TOOL_LIBRARIES", "__kmp_tool_libraries", 8},
	{"OMP_TOOL_VERBOSE_INIT", "__kmp_tool_verbose_init", 8},
	{"OMP_NUM_THREADS", "__kmp_nested_nth", 0},
	{"OMP_PROC_BIND", "__kmp_nested_proc_bind", 0},
}

// The versions of the runtime are consecutive constants: its own, the build (the same in all releases), and the
// version of OpenMP.
const (
	versionBuild = 20140926
	versionMajor = 5
)

// printBounds limits the work on a function that prints a setting. It reads the setting first; the rest is text.
var printBounds = accesspath.Bounds{Steps: 200, Paths: 4, Visits: 2, Depth: 1, Edges: 2, Cases: 8}

// settingSource is the part of the source "code" that finds the settings.
type settingSource struct {
	target callbacks.Target
	module *callbacks.Module
	code   *layoutcode.Code

	names   map[string]uint64 // addresses of the settings' names; nil before the search
	version func() (uint64, error)
	paths   map[string][]symbolic.Path // of the functions that print a setting
	words   []word                     // of the module's data that point into it
}

// word is a word of memory.
type word struct{ at, value uint64 }

// newSettingSource returns the source.
func newSettingSource(t callbacks.Target, mod *callbacks.Module, code *layoutcode.Code) *settingSource {
	s := &settingSource{target: t, module: mod, code: code, paths: map[string][]symbolic.Path{}}
	s.version = sync.OnceValues(s.openmpVersion)
	return s
}

// setting returns the variable of a rule, if the source has a rule for it.
func (s *settingSource) setting(variable string) (uint64, error) {
	if variable == "__kmp_openmp_version" {
		return s.version()
	}
	i := slices.IndexFunc(settingRules, func(r settingRule) bool { return r.variable == variable })
	if i < 0 {
		return 0, layout.ErrUnknown
	}
	s.scan()
	return s.apply(settingRules[i])
}

// scan finds the names of the settings, and the words that may belong to the table.
func (s *settingSource) scan() {
	if s.names != nil {
		return
	}
	s.names = map[string]uint64{}
	s.unwritten(s.scanNames, func() bool { return len(s.names) == len(settingRules) })
	search(s.target, writable(s.target, s.module), wordBytes, func(low callbacks.Address, b []byte) {
		for i := int(-low.Offset % wordBytes); i+wordBytes <= len(b); i += wordBytes {
			if v := callbacks.Word(b[i : i+wordBytes]); s.module.Contains(callbacks.Addr(v)) {
				s.words = append(s.words, word{low.Offset + uint64(i), v})
			}
		}
	})
}

// OpenMPVersion returns the version of the OpenMP API that the runtime in mod implements, from its constants;
// the runtime need not be in use. It returns 0 if the version is unknown.
func OpenMPVersion(t callbacks.Target, mod *callbacks.Module) int64 {
	at, err := layout.SymbolIn(t, mod, "__kmp_openmp_version")
	if err != nil {
		version, err := newCodeSource(t, mod).settings.version()
		if err != nil {
			return 0
		}
		at = callbacks.Addr(version)
	}
	v, err := layout.ReadUint(t, at, 4)
	if err != nil || v < firstOpenMP || v > lastOpenMP {
		return 0
	}
	return int64(v)
}

// unwritten passes the constants of the module to see and, if these are not enough, its code: linkers may put
// constants there. If a target does not list its mappings, both may be anywhere in the module.
func (s *settingSource) unwritten(see func(low callbacks.Address, b []byte), enough func() bool) {
	code, rest := moduleParts(s.target, s.module)
	constant := slices.DeleteFunc(rest, func(m callbacks.Mapping) bool { return m.Perm&callbacks.PermWrite != 0 })
	search(s.target, bounded(constant, maxCode), patternSize, see)
	if !enough() {
		search(s.target, bounded(code, maxCode), patternSize, see)
	}
}

// patternSize is at least the length of each search pattern.
const patternSize = 32

// prefix is the start of each setting's name in the search. The zero before it is not part of the pattern:
// constants are full of zeros.
const prefix = "OMP_"

// scanNames records the addresses of names in b, which starts at low.
func (s *settingSource) scanNames(low callbacks.Address, b []byte) {
	for at := 1; at < len(b); at++ {
		i := bytes.Index(b[at:], []byte(prefix))
		if i < 0 {
			return
		}
		if at += i; b[at-1] != 0 {
			continue
		}
		for _, r := range settingRules {
			if n := len(r.setting); at+n < len(b) && string(b[at:at+n]) == r.setting && b[at+n] == 0 {
				s.names[r.setting] = low.Offset + uint64(at)
			}
		}
	}
}

// versionPattern returns the bytes of the runtime's versions in memory, up to the version of OpenMP.
func versionPattern() []byte {
	var b []byte
	for _, v := range []uint32{versionMajor, 0, versionBuild} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return b
}

// openmpVersion returns the address of the constant after the runtime's own version.
func (s *settingSource) openmpVersion() (uint64, error) {
	at := uint64(0)
	pattern := versionPattern()
	build := len(pattern) - 4 // the search starts here: the bytes before are mostly zeros, as constants are
	s.unwritten(func(low callbacks.Address, b []byte) {
		for i := build; i < len(b); i++ {
			n := bytes.Index(b[i:], pattern[build:])
			if n < 0 {
				return
			}
			if i += n; bytes.Equal(b[i-build:i], pattern[:build]) {
				at = low.Offset + uint64(i+4)
			}
		}
	}, func() bool { return at != 0 })
	if at == 0 {
		return 0, layout.ErrUnknown
	}
	v, err := layout.ReadUint(s.target, callbacks.Addr(at), 4)
	if err != nil || v < firstOpenMP || v > lastOpenMP {
		return 0, fmt.Errorf("%w: %d after the runtime's version is no version of OpenMP", layout.ErrUnknown, v)
	}
	return at, nil
}

// The first and the last plausible version of OpenMP, as dates.
const (
	firstOpenMP = 199710
	lastOpenMP  = 209912
)

// apply finds the variable of a setting in the function that prints it. A variable that other printers read too
// is not the setting.
func (s *settingSource) apply(r settingRule) (uint64, error) {
	candidates, err := s.candidates(r)
	if err != nil {
		return 0, fmt.Errorf("%w: %v", layout.ErrUnknown, err)
	}
	for _, other := range settingRules {
		if other == r || other.size != r.size {
			continue
		}
		shared, _ := s.candidates(other)
		candidates = slices.DeleteFunc(candidates, func(a uint64) bool { return slices.Contains(shared, a) })
	}
	if len(candidates) != 1 {
		return 0, fmt.Errorf("%w: what prints %s reads %d variables of its own", layout.ErrUnknown, r.setting,
			len(candidates))
	}
	return candidates[0], nil
}

// candidates returns the variables of the rule's size that the setting's printer reads.
func (s *settingSource) candidates(r settingRule) ([]uint64, error) {
	paths, err := s.printing(r.setting)
	if err != nil {
		return nil, err
	}
	var found []uint64
	for _, p := range paths {
		for _, e := range p.Loads {
			if a, ok := r.find(e, s); ok && !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	return found, nil
}

// printing returns the paths of the function that prints a setting.
func (s *settingSource) printing(setting string) ([]symbolic.Path, error) {
	if p, ok := s.paths[setting]; ok {
		return p, nil
	}
	name, ok := s.names[setting]
	if !ok {
		return nil, fmt.Errorf("the runtime does not name %s", setting)
	}
	var printers []uint64
	for i, w := range s.words {
		// name, parse, print
		if w.value == name && i+2 < len(s.words) && s.words[i+2].at == w.at+2*wordBytes {
			printers = append(printers, s.words[i+2].value)
		}
	}
	if len(printers) != 1 {
		return nil, fmt.Errorf("%d functions print %s", len(printers), setting)
	}
	paths, err := accesspath.Run(accesspath.Config{Arch: s.target.Arch(), Mem: s.target, Bounds: printBounds},
		printers[0])
	s.paths[setting] = paths
	return paths, err
}

// find returns the rule's variable, if the expression reads it.
func (r settingRule) find(e *symbolic.Expr, s *settingSource) (uint64, bool) {
	c, ok := s.code.Chain(e)
	if !ok || c.Root.Kind != symbolic.RootGlobal || c.Steps[0].Index != nil {
		return 0, false
	}
	at := c.Root.Address + c.Steps[0].Offset
	if r.size == 0 { // an element of the list
		return at, len(c.Steps) == 2 && c.Steps[0].Size == wordBytes && c.Last().Size == 4
	}
	return at, len(c.Steps) == 1 && c.Steps[0].Size == r.size
}
