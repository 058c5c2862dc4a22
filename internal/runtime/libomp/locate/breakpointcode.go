package locate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// The runtime's locations are identical functions with empty bodies. Each call is guarded by a test of
// ompd_state. The calls are in a few functions, some of them exported: the caller identifies the location.

// validLocations is the only location that is called without a test.
const validLocations = "ompd_dll_locations_valid"

// maxCode bounds the code that is searched, in bytes. The runtime has 1 MiB of code; an executable into which it
// is linked may have more.
const maxCode = 64 << 20

// maxPath is PATH_MAX.
const maxPath = 4096

// callDepth is the number of calls between an exported function and the function that begins and ends tasks, and
// between another one and the function that begins a thread.
const callDepth = 3

// callers lists exported functions that call a location themselves.
var callers = []struct {
	name      string
	functions []string
}{
	{"ompd_bp_parallel_begin", []string{"__kmp_fork_call", "GOMP_parallel_start"}},
	{"ompd_bp_parallel_end", []string{"__kmpc_end_serialized_parallel", "GOMP_parallel_end"}},
}

// stubProof is a location that was found by its code, or the reason why it was not found.
type stubProof struct {
	entry    callbacks.Address
	sites    []callbacks.Address
	evidence string
	err      error
}

// stubSearch is the search for the locations of one runtime.
type stubSearch struct {
	locations *Locations
	cfg       accesspath.Config
	guards    []accesspath.Guard
	bodies    map[uint64]*accesspath.Body
	found     map[string]stubProof
}

// provenStubs finds the locations by code. The error is the reason why the code could not be searched.
func (ls *Locations) provenStubs() (map[string]stubProof, error) {
	state := ls.globals.OmpdState
	t, ok := ls.mem.(callbacks.Target)
	if !ok || ls.module == nil {
		return nil, fmt.Errorf("no code to search: %w", callbacks.Unsupported)
	}
	if err := state.Err(); err != nil {
		return nil, fmt.Errorf("its test of ompd_state cannot be searched: %w", err)
	}
	s := &stubSearch{
		locations: ls, cfg: accesspath.Config{Arch: t.Arch(), Mem: t},
		bodies: map[uint64]*accesspath.Body{}, found: map[string]stubProof{},
	}
	if err := s.scan(t, state.Address); err != nil {
		return nil, err
	}
	s.byCallers()
	s.byOrder()
	s.distinct()
	return s.found, nil
}

// scan collects the calls guarded by tests of ompd_state, and the call of validLocations.
func (s *stubSearch) scan(t callbacks.Target, state callbacks.Address) error {
	code, data := moduleParts(t, s.locations.module)
	variable := func(a uint64) accesspath.Variable {
		return accesspath.Variable{Address: a, Slots: pointersTo(t, data, a)}
	}
	tested, set := variable(state.Offset), variable(state.Offset-wordBytes) // see ompdGlobals
	var valid []accesspath.BodyCall
	var err error
	search(t, bounded(code, maxCode), 16, func(low callbacks.Address, bytes []byte) {
		guards, err1 := accesspath.Guards(s.cfg, low.Offset, bytes, tested)
		calls, err2 := accesspath.CallsBehind(s.cfg, low.Offset, bytes, set)
		err = errors.Join(err, err1, err2)
		s.guards, valid = append(s.guards, guards...), append(valid, calls...)
	})
	if err != nil {
		return err
	}
	s.guards = slices.DeleteFunc(s.guards, func(g accesspath.Guard) bool { return !accesspath.Empty(s.cfg, g.Entry) })
	s.dropJumps()
	if len(s.guards) == 0 {
		return fmt.Errorf("nothing in the runtime's code is called after a test of ompd_state, it was built without "+
			"OMPD: %w", callbacks.Unsupported)
	}
	s.locationsValid(valid, callbacks.Addr(set.Address))
	return nil
}

// wordBytes is the size of the runtime's OMPD variables.
const wordBytes = 8

// dropJumps removes jumps to targets that are not called elsewhere: they may stay in their function.
func (s *stubSearch) dropJumps() {
	called := map[uint64]bool{}
	for _, g := range s.guards {
		called[g.Entry] = called[g.Entry] || !g.Jump
	}
	s.guards = slices.DeleteFunc(s.guards, func(g accesspath.Guard) bool { return !called[g.Entry] })
}

// locationsValid names the function that is called right after ompd_dll_locations is set.
func (s *stubSearch) locationsValid(calls []accesspath.BodyCall, variable callbacks.Address) {
	entries := map[uint64]uint64{}
	for _, c := range calls {
		guarded := slices.ContainsFunc(s.guards, func(g accesspath.Guard) bool { return g.Entry == c.Entry })
		if !guarded && accesspath.Empty(s.cfg, c.Entry) {
			entries[c.Entry] = c.PC
		}
	}
	if len(entries) != 1 {
		s.found[validLocations] = stubProof{err: fmt.Errorf("%d functions are called behind the place where "+
			"ompd_dll_locations is set: %w", len(entries), callbacks.Incompatible)}
		return
	}
	if err := s.namesLibrary(variable); err != nil {
		s.found[validLocations] = stubProof{err: err}
		return
	}
	for entry, pc := range entries {
		s.found[validLocations] = stubProof{
			entry: callbacks.Addr(entry), sites: []callbacks.Address{callbacks.Addr(pc)},
			evidence: "called once ompd_dll_locations is set",
		}
	}
}

// namesLibrary checks that the variable is the list of file names of OMPD libraries that the runtime offers to
// debuggers.
func (s *stubSearch) namesLibrary(variable callbacks.Address) error {
	list, err := layout.ReadUint(s.locations.mem, variable, wordBytes)
	if err != nil {
		return fmt.Errorf("ompd_dll_locations: %w", err)
	}
	if list == 0 { // the program has not used the runtime yet
		return nil
	}
	first, err := layout.ReadUint(s.locations.mem, callbacks.Addr(list), wordBytes)
	if err != nil {
		return fmt.Errorf("ompd_dll_locations: %w", err)
	}
	name, err := layout.ReadString(s.locations.mem, callbacks.Addr(first), maxPath)
	if err != nil || !strings.Contains(name, "ompd") {
		return fmt.Errorf("ompd_dll_locations names %q, not an OMPD library: %w", name,
			errors.Join(err, callbacks.Incompatible))
	}
	return nil
}

// moduleParts returns the mappings of a module with code, and the others. If a target does not list its
// mappings, the whole module counts as code.
func moduleParts(t callbacks.Target, mod *callbacks.Module) (code, data []callbacks.Mapping) {
	if lister, ok := t.(callbacks.MappingLister); ok {
		for _, m := range lister.Mappings() {
			if m.Low.Offset < mod.Low.Offset || m.High.Offset > mod.High.Offset || m.Perm&callbacks.PermRead == 0 {
				continue
			}
			if m.Perm&callbacks.PermExec != 0 {
				code = append(code, m)
			} else {
				data = append(data, m)
			}
		}
	}
	if len(code) == 0 {
		code = []callbacks.Mapping{{Low: mod.Low, High: mod.High}}
	}
	return code, data
}

// bounded cuts a list of mappings after budget bytes.
func bounded(parts []callbacks.Mapping, budget uint64) []callbacks.Mapping {
	var out []callbacks.Mapping
	for _, p := range parts {
		p.High.Offset = min(p.High.Offset, p.Low.Offset+budget)
		if budget -= p.High.Sub(p.Low); p.High != p.Low {
			out = append(out, p)
		}
	}
	return out
}

// pointersTo returns the addresses of the words in parts that contain address a.
func pointersTo(mem callbacks.Memory, parts []callbacks.Mapping, a uint64) []uint64 {
	var slots []uint64
	search(mem, parts, wordBytes, func(low callbacks.Address, bytes []byte) {
		for i := int(-low.Offset % wordBytes); i+wordBytes <= len(bytes); i += wordBytes {
			if callbacks.Word(bytes[i:i+wordBytes]) == a {
				slots = append(slots, low.Offset+uint64(i))
			}
		}
	})
	return slots
}
