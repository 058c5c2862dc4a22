package locate

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Find returns the modules of t that contain a runtime of LLVM's kind: those that define its entry points,
// whatever their names. If there are no such modules, a runtime may be linked into a stripped file, or its own
// file may be missing; then the memory of the modules decides. No runtime is no error. Files that were searched
// without result are kept, if kept is not nil.
func Find(t callbacks.Target, kept *layout.Kept) ([]*callbacks.Module, error) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return findUnlisted(t), nil
	}
	mods, err := lister.Modules()
	var found []*callbacks.Module
	for _, mod := range mods {
		if defines(t, mod, "__kmpc_fork_call") && defines(t, mod, "__kmpc_global_thread_num") {
			found = append(found, mod)
		}
	}
	if len(found) == 0 {
		for _, mod := range mods {
			facts := kept.ModuleOf(mod)
			if facts.Lacks = facts.Lacks || !mayHold(mod.Image, fileParts(t, mod)); facts.Lacks {
				continue
			}
			if newMemorySource(t, mod).present(mod.Image == nil) {
				found = append(found, mod)
			}
		}
	}
	if err = layout.MissingFiles(mods, err); len(found) == 0 && err != nil {
		return nil, fmt.Errorf("finding the OpenMP runtime: %w", err)
	}
	return found, nil
}

// findUnlisted finds the runtime in a target that looks symbols up but does not list modules: the runtime is at
// the symbols.
func findUnlisted(t callbacks.Target) []*callbacks.Module {
	everywhere := &callbacks.Module{High: callbacks.Addr(math.MaxUint64)}
	if !defines(t, everywhere, "__kmpc_fork_call") {
		return nil
	}
	return []*callbacks.Module{everywhere}
}

func defines(t callbacks.Target, mod *callbacks.Module, name string) bool {
	_, err := layout.SymbolIn(t, mod, name)
	return err == nil
}

// present reports whether the module contains the runtime's OMPD description or, if its file is missing, its
// threads: the oldest releases have no description.
func (s *memorySource) present(lost bool) bool {
	s.scan()
	return s.scanErr == nil || lost && s.poolErr == nil
}

// setting is an environment variable that every runtime of LLVM's kind reads and that programs hardly set: its
// name is a constant in the file.
const setting = "KMP_FORKJOIN_BARRIER_PATTERN"

// filePart is a part of a file, [low, high).
type filePart struct{ low, high int64 }

// fileParts returns the read-only mapped parts of a module's file that may have constants, without the debug
// information, which may be most of the file. It returns nil if the target does not list them. If the linker has put
// the file's headers into a part without code, the constants are in such parts, too.
func fileParts(t callbacks.Target, mod *callbacks.Module) []filePart {
	code, rest := moduleParts(t, mod)
	if slices.ContainsFunc(rest, func(m callbacks.Mapping) bool { return m.File != "" && m.FileOffset == 0 }) {
		code = nil
	}
	var out []filePart
	for _, m := range slices.Concat(code, rest) {
		if m.File != "" && m.Perm&callbacks.PermWrite == 0 && m.FileOffset <= math.MaxInt64-m.High.Sub(m.Low) {
			out = append(out, filePart{int64(m.FileOffset), int64(m.FileOffset + m.High.Sub(m.Low))})
		}
	}
	return out
}

// mayHold reports whether parts of a module's file (all of it without parts) may contain a linked runtime. A
// missing file may.
func mayHold(img callbacks.Image, parts []filePart) bool {
	if img == nil {
		return true
	}
	if len(parts) == 0 {
		parts = []filePart{{0, img.Size()}}
	}
	return slices.ContainsFunc(parts, func(p filePart) bool { return partHolds(img, p.low, min(p.high, img.Size())) })
}

// partHolds reports whether a part of a file contains the setting's name.
func partHolds(img callbacks.Image, low, high int64) bool {
	if low >= high {
		return false
	}
	if whole, ok := img.(interface{ Bytes() []byte }); ok {
		return bytes.Contains(whole.Bytes()[low:high], []byte(setting))
	}
	buf := make([]byte, min(high-low, searchChunk))
	for ; low < high; low += int64(len(buf) - len(setting)) {
		n, err := img.ReadAt(buf[:min(high-low, int64(len(buf)))], low)
		if bytes.Contains(buf[:n], []byte(setting)) {
			return true
		}
		if err != nil || n <= len(setting) {
			break
		}
	}
	return false
}
