package libomp_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// costlyMemory is a memory in which each byte is expensive to read. It counts the bytes that are read, and
// stores the prefetched ones.
type costlyMemory struct {
	callbacks.Memory
	asked    int // number of reads
	bytes    int
	foreseen map[callbacks.Address]bool // addresses of prefetched ranges
}

func (d *costlyMemory) ReadMemory(a callbacks.Address, p []byte) error {
	if !d.foreseen[a] {
		d.asked++
		d.bytes += len(p)
	}
	return d.Memory.ReadMemory(a, p)
}

func (d *costlyMemory) ReadLater(a callbacks.Address, p []byte) error { return d.ReadMemory(a, p) }

func (d *costlyMemory) Foresee(pieces []callbacks.Piece) {
	d.asked++
	for _, p := range pieces {
		d.foreseen[p.At] = true
		d.bytes += int(p.Size)
	}
}

// TestStateWords compares states from the runtime's word alone with those from all fields, in programs with
// threads in all kinds of waits. It counts the bytes that each reads of expensive memory.
func TestStateWords(t *testing.T) {
	for _, program := range programs {
		for _, rt := range omptest.Runtimes(t) {
			t.Run(program+"/"+rt.Name, func(t *testing.T) {
				exe := omptest.Compile(t, omptest.Build{Program: program})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel,
					Env: []string{"OMP_DEBUG=enabled"}})
				words := &costlyMemory{Memory: s.Core, foreseen: map[callbacks.Address]bool{}}
				fields := &costlyMemory{Memory: s.Core, foreseen: map[callbacks.Address]bool{}}
				told, threads := statesOf(t, s.Runtime, words, true)
				concluded, _ := statesOf(t, s.Runtime, fields, false)
				for i := range concluded {
					if told[i].State != concluded[i].State || told[i].WaitID != concluded[i].WaitID {
						t.Errorf("thread %d: %v, wait id %#x (%s); by all fields %v, %#x (%s)", i, told[i].State,
							told[i].WaitID, told[i].Evidence, concluded[i].State, concluded[i].WaitID,
							concluded[i].Evidence)
					}
				}
				t.Logf("%d threads: %d questions, %d bytes; by all fields %d, %d", threads, words.asked, words.bytes,
					fields.asked, fields.bytes)
				more := words.asked > fields.asked/2 || words.bytes > fields.bytes/2
				if program == "barrier" && rt.Major >= 19 && more {
					t.Error("a state by its word needs more than half of what one from all fields needs")
				}
			})
		}
	}
}

// statesOf returns the states of all threads of a runtime in the given memory.
func statesOf(t *testing.T, rt rtl.Runtime, mem *costlyMemory, words bool) (all []handles.ThreadState, n int) {
	t.Helper()
	again, err := libomp.Reopen(rt, mem)
	if err != nil {
		t.Fatal(err)
	}
	if !words {
		libomp.DistrustWords(again)
	}
	mem.asked, mem.bytes = 0, 0
	for h, err := range again.Threads() {
		if err != nil {
			t.Fatal(err)
		}
		st, err := again.State(h, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, n = append(all, st), n+1
	}
	if n == 0 {
		t.Fatal("no thread")
	}
	return all, n
}
