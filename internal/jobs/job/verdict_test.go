package job

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// withMovement returns a kind with its movement.
func withMovement(k Kind, m Movement) Kind {
	k.Movement = m
	return k
}

// receiving returns a rank that waits for a message of another.
func receiving(anyone bool) Kind {
	k := waiting("MPI_Recv")
	k.Call = &Call{Routine: "MPI_Recv", Communicator: worldName, AnySource: anyone, Site: "app+36"}
	return k
}

// sending returns a rank that waits until its message is received.
func sending() Kind {
	k := waiting("MPI_Ssend")
	k.Call = &Call{Routine: "MPI_Ssend", Communicator: worldName, Site: "app+36"}
	return k
}

// inComm returns a rank that waits in a collective on a communicator of some ranks.
func inComm(routine, comm string, size int) Kind {
	k := waiting(routine)
	c := *k.Call
	c.Communicator, c.Size = comm, size
	k.Call = &c
	return k
}

func deadlocked() Kind {
	return Kind{Movement: Still, Threads: []Count{{inCompute, 2}}, Finding: &Finding{
		picture.VerdictDeadlock, picture.Certain, picture.SeverityHang,
		"2 threads wait for each other and can never proceed",
	}}
}

// verdictCase is a job of 16 ranks and its expected verdict.
type verdictCase struct {
	most      Kind
	bad       map[int]Kind
	peer      func(rank int) int
	kind      VerdictKind
	certainty picture.Certainty
	severity  picture.Severity
	says      string
}

// inBcast returns a rank that waits in a broadcast with a root.
func inBcast(root int) Kind {
	k := waiting("MPI_Bcast")
	c := *k.Call
	k.Call = &c
	k.Call.Root = &root
	return k
}

// verdictCases returns jobs in which most ranks do one thing, and some another.
func verdictCases() map[string]verdictCase {
	all := waiting("MPI_Allreduce")
	return map[string]verdictCase{
		"computes": {all, map[int]Kind{9: computing()}, nil, Missing, picture.Likely,
			picture.SeverityWarning,
			"15 ranks [0-8,10-15] wait in MPI_Allreduce for rank 9, which is elsewhere at compute hang.c:9"},
		"deadlocked": {all, map[int]Kind{9: deadlocked()}, nil, Missing, picture.Certain,
			picture.SeverityHang, "wait in MPI_Allreduce for rank 9, which is deadlocked: 2 threads"},
		"stopped": {all, map[int]Kind{9: {Condition: Stopped}}, nil, Missing, picture.Certain,
			picture.SeverityHang, "for rank 9, which is stopped"},
		"crashed": {all, map[int]Kind{9: {Condition: Crashed, Why: "SIGSEGV"}}, nil, Missing,
			picture.Certain, picture.SeverityCrash, "for rank 9, which crashed (SIGSEGV)"},
		"gone": {all, map[int]Kind{3: {Condition: Gone, Why: "its process is not there"}}, nil,
			LeftEarly, picture.Certain, picture.SeverityHang, "for rank 3, which has ended"},
		"in Finalize": {all, map[int]Kind{3: waiting("MPI_Finalize")}, nil, LeftEarly, picture.Likely,
			picture.SeverityHang, "for rank 3, which is in MPI_Finalize at solve hang.c:36"},
		"other collective": {all, map[int]Kind{9: waiting("MPI_Barrier")}, nil, Mismatch, picture.Likely,
			picture.SeverityHang,
			"rank 9 is in MPI_Barrier at solve hang.c:36, and 15 ranks [0-8,10-15] in MPI_Allreduce"},
		"other root": {inBcast(0), map[int]Kind{4: inBcast(1)}, nil, Mismatch, picture.Likely,
			picture.SeverityHang, "the root has to be the same"},
		"receives of one": {all, map[int]Kind{9: receiving(false)}, func(int) int { return 10 }, Cycle,
			picture.Likely, picture.SeverityHang,
			"15 ranks [0-8,10-15] wait in MPI_Allreduce for rank 9; rank 9 in MPI_Recv at solve hang.c:36 " +
				"for rank 10, which waits there"},
		"a ring": {receiving(false), nil, func(r int) int { return (r + 1) % 16 }, Cycle,
			picture.Likely, picture.SeverityHang,
			"16 ranks [0-15] wait for each other: rank 0 in MPI_Recv at solve hang.c:36 for rank 1, rank 1"},
		"a ring, seen once": {withMovement(receiving(false), SeenOnce), nil,
			func(r int) int { return (r + 1) % 16 }, Cycle,
			picture.Possible, picture.SeverityHang, "wait for each other"},
		"all wait for anyone": {receiving(true), nil, nil, Cycle, picture.Likely, picture.SeverityHang,
			"16 ranks [0-15] wait for a message, and no rank"},
		"all send to whom is not known": {sending(), nil, nil, Cycle, picture.Likely, picture.SeverityHang,
			"16 ranks [0-15] wait to send or receive a message, and no rank is left to take or send one"},
		"all deadlocked": {deadlocked(), nil, nil, RankFault, picture.Certain, picture.SeverityHang,
			"16 ranks [0-15] are deadlocked"},
		"one elsewhere": {computing(), map[int]Kind{5: {Threads: []Count{{ThreadClass{State: "work_serial",
			Where: []Site{"app+10"}}, 1}}}}, nil, Odd, picture.Certain, picture.SeverityInfo,
			"rank 5 is elsewhere at main hang.c:44"},
		"one of many messages": {all, map[int]Kind{9: withMovement(receiving(false), SeenOnce)},
			func(int) int { return 10 },
			Cycle, picture.Possible, picture.SeverityHang,
			"rank 9 in MPI_Recv"},
	}
}

// TestVerdicts checks the verdict on each constellation of ranks.
func TestVerdicts(t *testing.T) {
	for name, c := range verdictCases() {
		p := jobOf(16, c.most, c.bad, c.peer)
		list := p.verdicts()
		if len(list) == 0 {
			t.Errorf("%s: no verdict", name)
			continue
		}
		v := list[0]
		if v.Kind != c.kind || v.Certainty != c.certainty || v.Severity != c.severity ||
			!strings.Contains(v.Summary, c.says) {
			t.Errorf("%s: %s, %s, %s: %s; want %s, %s, %s: %s", name, v.Kind, v.Certainty, v.Severity, v.Summary,
				c.kind, c.certainty, c.severity, c.says)
		}
	}
}

// jobOf returns a job in which most ranks have one kind.
func jobOf(size int, most Kind, bad map[int]Kind, peer func(int) int) *Part {
	p := NewPart()
	for r := range size {
		k, ok := bad[r]
		if !ok {
			k = most
		}
		a := answer(r, k)
		if a.Size = size; peer != nil && k.Call != nil && roleOf(k.Call.Routine) == exchange {
			a.Peer = peer(r)
		}
		p.Add(a)
	}
	return p
}

// TestCommunicators checks that communicators with one name and disjoint ranks are not compared, and that those
// with all of their ranks are.
func TestCommunicators(t *testing.T) {
	const name = "MPI COMMUNICATOR 3 SPLIT FROM 0"
	half, other := inComm("MPI_Allreduce", name, 8), inComm("MPI_Barrier", name, 8)
	halves := jobOf(16, half, map[int]Kind{8: other, 9: other, 10: other, 15: computing()}, nil)
	for _, v := range halves.verdicts() {
		if v.Kind == Mismatch {
			t.Errorf("two halves: %s", v.Summary)
		}
	}
	all, one := inComm("MPI_Allreduce", "pair", 16), inComm("MPI_Barrier", "pair", 16)
	list := jobOf(16, all, map[int]Kind{9: one}, nil).verdicts()
	if len(list) != 1 || list[0].Kind != Mismatch || list[0].Ranks.String() != "9" {
		t.Errorf("one communicator: %+v, want rank 9 in another collective", list)
	}
}

// TestNoVerdict checks that states of healthy jobs are not reported as hangs.
func TestNoVerdict(t *testing.T) {
	moving := func(k Kind) Kind { return withMovement(k, Moved) }
	bcast := waiting("MPI_Bcast")
	for name, p := range map[string]*Part{
		"all in one collective": jobOf(16, waiting("MPI_Allreduce"), nil, nil),
		"two collectives, one after other": jobOf(16, moving(waiting("MPI_Allreduce")),
			map[int]Kind{4: moving(bcast)}, nil),
		"a ring that gets on": jobOf(16, moving(receiving(false)), nil,
			func(r int) int { return (r + 1) % 16 }),
		"half of them compute": jobOf(16, waiting("MPI_Allreduce"),
			map[int]Kind{1: computing(), 3: computing(), 5: computing()}, nil),
		"the slow one gets on": jobOf(16, waiting("MPI_Allreduce"),
			map[int]Kind{9: moving(computing())}, nil),
		"a message on its way to one": jobOf(16, computing(), map[int]Kind{9: receiving(false)},
			func(int) int { return 10 }),
		"all leave": jobOf(16, waiting("MPI_Finalize"), nil, nil),
		"two rings of a pair that get on": jobOf(2, moving(receiving(false)), nil,
			func(r int) int { return 1 - r }),
		"a master waits for working ranks": jobOf(16, computing(), map[int]Kind{0: receiving(true)}, nil),
		"one did not answer, others wait": jobOf(16, waiting("MPI_Allreduce"),
			map[int]Kind{9: {Condition: Silent}}, nil),
		"other collective, and one to come": jobOf(16, moving(waiting("MPI_Allreduce")),
			map[int]Kind{9: computing(), 3: moving(waiting("MPI_Barrier"))}, nil),
	} {
		for _, v := range p.verdicts() {
			if v.Hangs() {
				t.Errorf("%s: %s: %s", name, v.Kind, v.Summary)
			}
		}
	}
}
