package libgomp

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// stopped is a core in which all threads are at the same instruction, outside of system calls.
type stopped struct {
	*rtltest.Damaged
	pc uint64
}

// Registers returns the thread's registers, with that instruction as the program counter.
func (s *stopped) Registers(id callbacks.ThreadID) (callbacks.Registers, error) {
	regs, err := s.Damaged.Registers(id)
	if s.pc != 0 {
		regs.Syscall = -1
		regs.SetPC(s.pc)
	}
	return regs, err
}

// TestDamage overwrites the region fields of one of two roots, and checks that the other root's region can still
// be read. A level that the runtime has not written yet is not damage while the thread is in the runtime's code.
func TestDamage(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "roots", Compiler: omptest.GCC})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	open := func(target callbacks.Target) *runtime {
		rts, err := Open(target, handles.Stamp{Space: 1}, layout.Options{})
		if err != nil || len(rts) != 1 {
			t.Fatalf("%d runtimes, %v", len(rts), err)
		}
		return rts[0].(*runtime)
	}
	whole := open(c)
	w := whole.world()
	if len(w.order) != 2 || len(whole.Damage()) > 0 {
		t.Fatalf("%d regions, damage %q", len(w.order), whole.Damage())
	}
	r := w.order[0]
	if !whole.threads.atBarrier(r.members[1], r.team) { // in the other region thread 0 is at the barrier
		r = w.order[1]
	}
	team, primary := r.team.addr.Offset, r.primaryThread()
	level := primary.addr.Add(whole.l.Thread.Level.Offset).Offset
	for _, tt := range []struct {
		name   string
		at     uint64
		value  uint64
		pc     uint64
		damage int
		moving bool
		worker bool // the worker's region is known: it sleeps at a barrier of that region
	}{
		{"number of threads", team, 99, 0, 1, false, false},
		{"no threads", team, 0, 0, 1, false, false},
		{"level", level, 0, 0, 1, false, true},
		{"level, in the runtime", level, 0, whole.code.low + 1, 0, true, false},
		{"level, two too many", level, 2, whole.code.low + 1, 0, true, false},
		{"level, absurd", level, 77, whole.code.low + 1, 1, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &rtltest.Damaged{Core: c}
			d.Put(tt.at, tt.value, 4)
			rt := open(&stopped{d, tt.pc})
			if got := rt.Damage(); len(got) != tt.damage {
				t.Errorf("damage %q, want %d", got, tt.damage)
			}
			w, regions := rt.world(), 1
			if tt.worker {
				regions = 2
			}
			if len(w.order) != regions {
				t.Errorf("%d regions, want %d", len(w.order), regions)
			}
			for _, th := range w.threads {
				unread := th.pool == primary.pool && (th.addr == primary.addr || !tt.worker)
				if th.idle != "" || unread != (th.err != nil) {
					t.Errorf("LWP %d: idle %q, %v; unread %v", th.lwp, th.idle, th.err, unread)
				}
				if th.addr == primary.addr && tt.moving != errors.Is(th.err, errMoving) {
					t.Errorf("LWP %d: %v", th.lwp, th.err)
				}
			}
		})
	}
}
