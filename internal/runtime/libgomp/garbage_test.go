package libgomp

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

func isStale(err error) bool    { return errors.Is(err, callbacks.StaleHandle) }
func isBadInput(err error) bool { return errors.Is(err, callbacks.BadInput) }

// TestGarbage damages bytes in threads, teams and tasks, and calls all readers.
func TestGarbage(t *testing.T) {
	for _, program := range []string{"nested", "tasks_deps", "tasks_priority"} {
		exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC})
		c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
		rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{})
		if err != nil || len(rts) != 1 {
			t.Fatalf("%s: %d runtimes, %v", program, len(rts), err)
		}
		var places []callbacks.Address // 256 bytes at each address are damaged
		w := rts[0].(*runtime).world()
		for _, th := range w.threads {
			places = append(places, th.addr, th.task, th.pool)
		}
		for _, r := range w.order {
			places = append(places, r.team.addr, r.team.addr.Add(1280),
				rts[0].(*runtime).threads.records.implicitAddress(r.team, 0))
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			d := &rtltest.Damaged{Core: c}
			for range 1 + random.IntN(12) {
				at := places[random.IntN(len(places))].Offset + random.Uint64N(256)
				d.Put(at, []uint64{0, 0xff, 1, uint64(random.Uint32())}[random.IntN(4)], 1)
			}
			rts, _ := Open(d, handles.Stamp{Space: 1}, layout.Options{})
			for _, rt := range rts {
				rtltest.Walk(t, rt, func(handles.Thread) *handles.Evidence { return nil })
			}
		}
	}
}
