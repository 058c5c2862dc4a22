package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// setVariable sets a variable of the environment.
func (s scene) setVariable(name, value string, purpose picture.VariablePurpose, always bool) {
	s.Facts.Environment = append(s.Facts.Environment, picture.Variable{
		Name: name, Value: value, State: picture.VariableSet, Purpose: purpose, AlwaysSpins: always,
	})
}

// setting sets a control variable of the runtime.
func (s scene) setting(name, value string) {
	s.Facts.Settings = append(s.Facts.Settings, picture.Setting{Name: name, Value: value})
}

// TestPatience checks more threads than processors, if some or all are awake at a barrier.
func TestPatience(t *testing.T) {
	spin := picture.PurposeSpin
	over := picture.VerdictOversubscribed
	at := func(n int, change func(scene)) func(scene) { // 4 threads on 2 processors, n of them wait
		return procs(2, func(s scene, _ *picture.Processors) {
			for lwp := 1; lwp <= n; lwp++ {
				w := s.waits(lwp, picture.WaitBarrier, "")
				w.Asleep, w.Lock = false, ""
			}
			change(s)
		})
	}
	warned := func(fix string) []want {
		return []want{warning(over, fix, "4 threads of parallel regions compete", all(4)...)}
	}
	active := func(s scene) { s.setVariable("OMP_WAIT_POLICY", "active", spin, true) }
	check(t, []scenario{
		{"all, by default", 4, at(4, func(scene) {}), nil},
		{"all, active", 4, at(4, active), warned("or let them sleep: OMP_WAIT_POLICY=passive")},
		{"all, spin count", 4, at(4, func(s scene) { s.setVariable("GOMP_SPINCOUNT", "infinite", spin, true) }),
			warned("OMP_WAIT_POLICY=passive without GOMP_SPINCOUNT=infinite")},
		{"all, blocktime", 4, at(4, func(s scene) {
			s.setting("wait-policy-var", "passive")
			s.setting("kmp-blocktime-var", "infinite")
		}), warned("or let them sleep: KMP_BLOCKTIME=0")},
		{"all, after a crash", 4, at(4, func(s scene) {
			active(s)
			s.Facts.Abort = &picture.Abort{Component: "the C library", Thread: 1}
		}), []want{{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, "", ""}}},
		{"some, by default", 4, at(2, func(s scene) {
			s.setting("wait-policy-var", "passive")
			s.setting("kmp-blocktime-var", "200ms")
		}), warned("or let them sleep: KMP_BLOCKTIME=0")},
		{"some, and tasks are queued", 4, at(2, func(s scene) { s.task("t", "", picture.TaskQueued, 0) }),
			[]want{info(over, "OMP_NUM_THREADS=2", "4 threads of parallel regions compete", all(4)...)}},
		{"some, and sleep at once", 4, at(2, func(s scene) { s.setting("kmp-blocktime-var", "0ms") }), nil},
		{"some, and are passive", 4, at(2, func(s scene) {
			s.setVariable("OMP_WAIT_POLICY", "PASSIVE", spin, false)
		}), nil},
		{"as many as were asked for", 4, at(0, func(s scene) {
			s.setVariable("OMP_NUM_THREADS", "2", picture.PurposeTeam, false)
		}), []want{info(over, "the program asks for more than OMP_NUM_THREADS=2", "4 threads", all(4)...)}},
	})
}
