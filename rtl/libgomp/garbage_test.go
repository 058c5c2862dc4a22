package libgomp

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

func isStale(err error) bool    { return errors.Is(err, callbacks.StaleHandle) }
func isBadInput(err error) bool { return errors.Is(err, callbacks.BadInput) }

// damaged is a core some of whose words are others than they were.
type damaged struct {
	*corefile.Core
	words map[uint64]byte // by address
}

func (d *damaged) ReadMemory(a callbacks.Address, p []byte) error {
	err := d.Core.ReadMemory(a, p)
	for at, b := range d.words {
		if i := at - a.Offset; i < uint64(len(p)) {
			p[i] = b
		}
	}
	return err
}

// exercise asks a runtime everything. It only has to come to an end.
func exercise(rt rtl.Runtime) {
	for h, err := range rt.Threads() {
		if err != nil {
			continue
		}
		_, _ = rt.Thread(h)
		_, _ = rt.State(h, nil)
		p, err := rt.CurrentParallel(h)
		for n := 0; err == nil && n < 100; n++ {
			_, _ = rt.Parallel(p)
			_, _ = rt.ThreadInParallel(p, 0)
			for task := range rt.ExplicitTasks(p) {
				_, _ = rt.Task(task)
				_, _ = rt.WaitsFor(task)
			}
			p, err = rt.EnclosingParallel(p)
		}
		task, err := rt.CurrentTask(h)
		for n := 0; err == nil && n < 100; n++ {
			_, _ = rt.Task(task)
			_, _ = rt.SchedulingTask(task)
			task, err = rt.GeneratingTask(task)
		}
	}
	_, _ = rt.ControlVars()
}

// TestGarbage changes bytes in threads, teams and tasks, and asks everything.
func TestGarbage(t *testing.T) {
	for _, program := range []string{"nested", "tasks_deps", "tasks_priority"} {
		exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC})
		c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
		rts, err := Open(c, handles.Stamp{Space: 1}, Options{})
		if err != nil || len(rts) != 1 {
			t.Fatalf("%s: %d runtimes, %v", program, len(rts), err)
		}
		var places []callbacks.Address // 256 bytes from each are damaged
		w := rts[0].(*runtime).world()
		for _, th := range w.threads {
			places = append(places, th.addr, th.task, th.pool)
		}
		for _, r := range w.order {
			places = append(places, r.team.addr, r.team.addr.Add(1280), rts[0].(*runtime).implicit(r.team, 0))
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			d := &damaged{Core: c, words: map[uint64]byte{}}
			for range 1 + random.IntN(12) {
				at := places[random.IntN(len(places))].Offset + random.Uint64N(256)
				d.words[at] = []byte{0, 0xff, 1, byte(random.Uint32())}[random.IntN(4)]
			}
			rts, _ := Open(d, handles.Stamp{Space: 1}, Options{})
			for _, rt := range rts {
				exercise(rt)
			}
		}
	}
}
