package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// linker is a linker and the ways in which it writes the stubs of calls to shared libraries.
type linker struct {
	program string
	use     string   // the compiler's flags that choose it
	flags   []string // one program is linked for each
}

func linkers() []linker {
	return []linker{
		{"ld.bfd", "-fuse-ld=bfd", []string{"-pie", "-no-pie", "-Wl,-z,now", "-fno-plt",
			"-fcf-protection=full -Wl,-z,ibtplt", "-static-pie"}},
		{"ld.gold", "-fuse-ld=gold", []string{"-pie", "-no-pie", "-Wl,-z,now"}},
		{"ld.lld-16", "-fuse-ld=lld -B/usr/lib/llvm-16/bin", []string{"-pie", "-no-pie", "-Wl,-z,now",
			"-fcf-protection=full -Wl,-z,force-ibt", "-Wl,-z,retpolineplt", "-Wl,-z,retpolineplt -Wl,-z,now",
			"-static-pie"}},
		{"ld.mold", "-fuse-ld=mold", []string{"-pie", "-no-pie", "-Wl,-z,now", "-fcf-protection=full", "-static-pie"}},
	}
}

// TestLinkers finds the same verdict on a program whichever linker wrote its stubs, and no hang in a healthy one.
func TestLinkers(t *testing.T) {
	omptest.NeedsMore(t, "the linkers gold, lld and mold")
	for _, ld := range linkers() {
		omptest.Program(t, ld.program)
		for _, l := range linkedLanes() {
			for _, flags := range ld.flags {
				if flags == "-static-pie" && l.Family != "libgomp" {
					continue // Debian has no static libomp
				}
				l := l
				l.Build = "O1 " + ld.use + " " + flags
				t.Run(l.Family+" "+ld.program+" "+flags, func(t *testing.T) {
					t.Parallel()
					for _, e := range linked() {
						t.Run(e.program, func(t *testing.T) { e.check(t, l, l.Look(t, e.inLane())) })
					}
				})
			}
		}
	}
}

// linkedLanes returns one lane of each family, with processes.
func linkedLanes() []e2e.Lane {
	return []e2e.Lane{
		{Name: "libomp-16", Family: "libomp", Mode: omptest.Live, Runtime: func(tb testing.TB) omptest.Runtime {
			return omptest.RuntimeOf(tb, 16)
		}},
		{Name: "libgomp", Family: "libgomp", Mode: omptest.Live, Runtime: omptest.Libgomp},
	}
}

func linked() []expectation {
	return []expectation{
		{program: "verdict_critical_cycle", kind: "deadlock", threads: 2,
			waits: []string{"critical audit", "critical ledger"}},
		{program: "lock_cycle", kind: "deadlock", threads: 2, waits: []string{"lock first", "lock second"}},
		{program: "healthy_lock_held"},
	}
}
