package symbolize

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// TestSharedVariablesOfTask finds the shared variables of a task where clang's debug information has no location for
// the context, but one for the task. All registers have the task's address.
func TestSharedVariablesOfTask(t *testing.T) {
	object := compile(t, "shared.c", "clang-16", "-g", "-O2", "--target=aarch64-linux-gnu", "-fPIC", "-fopenmp", "-c")
	file := filepath.Join(t.TempDir(), "shared")
	runTool(t, "ld.lld-16", "-shared", "-o", file, object)
	s := openSymbolizer(t, file)
	const task, context, left, right, line = 0x1000, 0x2000, 0x3000, 0x4000, 18
	memory := map[uint64]uint64{task: context, context: left, context + 8: right}
	read := func(addr uint64, p []byte) error {
		word, ok := memory[addr]
		if !ok || len(p) != 8 {
			return errors.New("no memory")
		}
		binary.LittleEndian.PutUint64(p, word)
		return nil
	}
	found, entry := 0, outlinedFunctions(t, file)[".omp_task_entry."]
	for pc := entry; pc < entry+0x200; pc += 4 { // the loop is unrolled
		if _, at, err := s.Line(pc); err != nil || at != line {
			continue
		}
		shared := s.SharedVariables(Activation{PC: pc, CFA: 0x7000, Register: func(int) (uint64, bool) {
			return task, true
		}}, read)
		if slices.Equal(shared, []Shared{{Address: left, Home: true}, {Address: right, Home: true}}) {
			found++
		} else if len(shared) > 0 {
			t.Errorf("%#x: %+v", pc, shared)
		}
	}
	if found == 0 {
		t.Errorf("no code of line %d has the shared variables", line)
	}
}
