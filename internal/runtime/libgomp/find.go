package libgomp

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// findModules returns the modules of t that contain GNU libgomp: modules with any file name that define its
// entry points. LLVM's runtime defines entry points of the same names, and is recognized by its own ones. A
// stripped static executable has symbols of neither runtime, and a library without a file is unknown; then the
// memory of the threads decides. Without a runtime the result is empty, and the error is nil.
func findModules(t callbacks.Target) ([]*callbacks.Module, error) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		everywhere := &callbacks.Module{High: callbacks.Addr(math.MaxUint64)}
		if !isRuntime(t, everywhere) {
			return nil, nil
		}
		return []*callbacks.Module{everywhere}, nil
	}
	mods, err := lister.Modules()
	var found []*callbacks.Module
	foreign := false
	for _, mod := range mods {
		if isRuntime(t, mod) {
			found = append(found, mod)
		}
		foreign = foreign || defines(t, mod, "__kmpc_fork_call")
	}
	if len(found) > 0 || foreign {
		return found, nil
	}
	if mod := findStripped(t, mods); mod != nil && newMemorySource(t, nil).look() == nil {
		return []*callbacks.Module{mod}, nil
	}
	if err = layout.MissingFiles(mods, err); err != nil {
		return nil, fmt.Errorf("finding the OpenMP runtime: %w", err)
	}
	return found, nil
}

// findStripped returns the module that may contain the runtime although no symbol shows it: a stripped static
// executable, a stripped executable with the runtime's constants, or the only library without a file. If there
// are several, the name decides. It returns nil if it finds no candidate.
func findStripped(t callbacks.Target, mods []*callbacks.Module) *callbacks.Module {
	if isStatic(mods) && !defines(t, mods[0], "main") {
		return mods[0]
	}
	for _, m := range mods {
		if m.Main && m.Image != nil && linkedIn(m.Image) {
			return m
		}
	}
	var lost []*callbacks.Module
	for _, m := range mods {
		if m.Image == nil && !m.Main {
			lost = append(lost, m)
		}
	}
	if len(lost) > 1 {
		lost = slices.DeleteFunc(lost, func(m *callbacks.Module) bool {
			return !strings.Contains(path.Base(m.Path),
				"gomp")
		})
	}
	if len(lost) != 1 {
		return nil
	}
	return lost[0]
}

// isRuntime reports whether mod defines functions that every program with the runtime has, also a statically
// linked one. Tools that intercept calls define only some of them.
func isRuntime(t callbacks.Target, mod *callbacks.Module) bool {
	if defines(t, mod, "__kmpc_fork_call") {
		return false
	}
	for _, name := range []string{"GOMP_parallel", "omp_get_level", "omp_get_ancestor_thread_num"} {
		if !defines(t, mod, name) {
			return false
		}
	}
	return true
}

// isStatic reports whether the program is statically linked: one executable, without libraries except the
// kernel's.
func isStatic(mods []*callbacks.Module) bool {
	n := 0
	for _, m := range mods {
		if m.Path != "[vdso]" {
			n++
		}
	}
	return n == 1 && mods[0].Main
}

func defines(t callbacks.Target, mod *callbacks.Module, name string) bool {
	_, err := layout.SymbolIn(t, mod, name)
	return err == nil
}

// marker is a sign that a runtime is of a release of GCC or newer: the node of symbol versions that the release
// introduced. For modules without such nodes, it is a function that the release added to an object file that
// every program contains.
type marker struct {
	release  int
	node     string
	function string
}

// markers returns the markers in ascending order of releases.
func markers() []marker {
	return []marker{
		{7, "GOMP_1.0", ""}, {9, "GOMP_5.0", "GOMP_parallel_reductions"}, {10, "OACC_2.6", ""},
		{11, "GOMP_5.0.1", "omp_fulfill_event"},
		{12, "GOMP_5.1", "omp_display_env"}, {13, "GOMP_5.1.1", "omp_in_explicit_task"}, {14, "GOMP_5.1.2", ""},
		{15, "GOMP_6.0", ""}, {16, "GOMP_6.0.1", ""},
	}
}

// versions bounds the release by version nodes, or by functions if the module has no such nodes.
func versions(t callbacks.Target, mod *callbacks.Module) (r layout.Releases, by string) {
	has := func(m marker) bool {
		_, err := t.Symbol(m.node, mod.Path)
		return err == nil
	}
	by = "version nodes"
	if !has(markers()[0]) {
		if !isRuntime(t, mod) {
			return r, ""
		}
		by = "functions"
		has = func(m marker) bool { return defines(t, mod, m.function) }
	}
	for _, m := range markers() {
		if by == "functions" && m.function == "" {
			continue
		}
		if !has(m) {
			r.High = m.release - 1
			break
		}
		r.Low = m.release
	}
	if by == "functions" && r.Low == 13 { // the functions do not distinguish newer releases
		r.High = 0
	}
	return r, by
}

// Display names of the runtime, short and full.
const family, fullName = "libgomp", "GNU OpenMP runtime"

// identify returns the name and version of the runtime.
func identify(t callbacks.Target, mod *callbacks.Module, fp *fingerprint) handles.Identity {
	id := handles.Identity{Family: family, Name: fullName, Module: mod}
	var r layout.Releases
	r, id.VersionBy = versions(t, mod)
	if r.Low == 0 && len(fp.rows) > 0 {
		shape := layout.Releases{Low: fp.table.rows[fp.rows[0]].Low, High: fp.table.rows[fp.rows[len(fp.rows)-1]].High}
		if fp.rows[len(fp.rows)-1] == len(fp.table.rows)-1 {
			shape.High = 0
		}
		r, id.VersionBy = shape, "layout"
	}
	id.Version = r.String()
	return id
}
