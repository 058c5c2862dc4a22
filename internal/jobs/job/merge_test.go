package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Places of the recorded classes.
var (
	inAllreduce = ThreadClass{State: "wait_mpi", Where: []Site{"app+10", "app+36", "MPI_Allreduce"}}
	inCompute   = ThreadClass{State: "work_serial", Where: []Site{"app+10", "app+40", "app+9"}}
	idle        = ThreadClass{State: "idle", Where: []Site{"<OMP-idle>"}}
	library     = ThreadClass{Other: true, State: "other"}
	names       = map[Site]Name{
		"app+10": {"main", "hang.c", 44}, "app+36": {"solve", "hang.c", 36}, "app+40": {"solve", "hang.c",
			29}, "app+9": {"compute", "hang.c", 9},
	}
)

// waiting returns a rank that waits in a collective on the communicator of all ranks.
func waiting(routine string) Kind {
	count := int64(1)
	in := inAllreduce
	in.Where = []Site{"app+10", "app+36", Site(routine)}
	return Kind{
		Movement: Still,
		Call: &Call{Routine: routine, Communicator: worldName, Count: &count, Type: "MPI_DOUBLE", Op: "MPI_SUM",
			Site: "app+36"},
		Threads: []Count{{in, 1}, {idle, 3}, {library, 2}},
	}
}

// computing returns a rank in the program's own code.
func computing() Kind {
	return Kind{Movement: Still, Threads: []Count{{inCompute, 1}, {idle, 3}, {library, 2}}}
}

func answer(rank int, k Kind) Answer {
	return Answer{Rank: rank, Kind: k, Member: Member{Host: fmt.Sprintf("node%d", rank/8), PID: 1000 + rank,
		Peer: -1}, Names: names}
}

// someAnswers returns random answers; a rank may have several that differ.
func someAnswers(r *rand.Rand) []Answer {
	kinds := []Kind{waiting("MPI_Allreduce"), waiting("MPI_Barrier"), computing(),
		{Condition: Silent, Why: "timed out"}, {Condition: Stopped}, {Condition: Gone}}
	var out []Answer
	for range 1 + r.IntN(30) {
		a := answer(r.IntN(20), kinds[r.IntN(len(kinds))])
		a.Peer, a.Size = r.IntN(3)-1, r.IntN(40)
		if r.IntN(8) == 0 {
			a.Files = map[string]File{"app": {ID: "00", Path: fmt.Sprint("/bin/", r.IntN(3))}}
		}
		if r.IntN(4) == 0 {
			a.Names = map[Site]Name{"app+10": {"main", "other.c", r.IntN(50)}}
		}
		out = append(out, a)
	}
	return out
}

func partOf(list []Answer) *Part {
	p := NewPart()
	for _, a := range list {
		p.Add(a)
		p.Hear(a.Host)
		if len(a.Files) > 0 {
			p.Explain(a, []string{a.Files["app"].Path})
		}
	}
	return p
}

// encode returns a Part as it is sent: equal Parts give equal text.
func encode(t *testing.T, p *Part) string {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMergeLaws checks that a merge is associative, commutative and idempotent, also for parts that disagree on
// a rank.
func TestMergeLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	merged := func(parts ...*Part) *Part {
		p := NewPart()
		for _, q := range parts {
			p.Merge(q)
		}
		return p
	}
	for range 300 {
		a, b, c := partOf(someAnswers(r)), partOf(someAnswers(r)), partOf(someAnswers(r))
		b.Lose("node7", fmt.Sprint("timed out after ", r.IntN(3)))
		want := encode(t, merged(a, b, c))
		for name, p := range map[string]*Part{
			"other order": merged(c, b, a), "tree": merged(a, merged(b, c)), "other tree": merged(merged(c, a), b),
			"twice": merged(a, b, a, c, b, c),
		} {
			if got := encode(t, p); got != want {
				t.Fatalf("%s: %+v is not %+v", name, p.Report(""), merged(a, b, c).Report(""))
			}
		}
		if all := a.Ranks().Union(b.Ranks()).Union(c.Ranks()); !merged(a, b, c).Ranks().Equal(all) {
			t.Fatal("a rank was lost")
		}
	}
}

// TestMergeKinds checks that each rank has one kind after a merge, and that an answer counts more than a
// missing one.
func TestMergeKinds(t *testing.T) {
	p := partOf([]Answer{answer(1, Kind{Condition: Silent, Why: "timed out"}), answer(2, computing())})
	p.Merge(partOf([]Answer{answer(1, computing()), answer(2, Kind{Condition: Silent})}))
	rep := p.Report("j")
	if rep.Answered.String() != "1-2" || len(rep.Missing) != 0 || len(p.kinds) != 1 {
		t.Errorf("%v answered, missing %v, %d kinds; want ranks 1-2 of one kind", rep.Answered, rep.Missing,
			len(p.kinds))
	}
}

// TestRoundTrip checks that a Part can be decoded after a launcher's label.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		p := partOf(someAnswers(r))
		p.Lose("node9", "no route")
		line := encode(t, p)
		q, err := decode([]byte("node3: " + line))
		if err != nil {
			t.Fatal(err)
		}
		before, err1 := json.Marshal(p.Report("j"))
		after, err2 := json.Marshal(q.Report("j"))
		if err := errors.Join(err1, err2); err != nil || encode(t, q) != line || string(before) != string(after) {
			t.Fatalf("%v: %s became %s", err, before, after)
		}
	}
}

// TestDecodeRefuses checks that other text, and damaged or inconsistent parts, are errors.
func TestDecodeRefuses(t *testing.T) {
	good := strings.TrimSuffix(encode(t, partOf([]Answer{answer(3, computing())})), "\n")
	for name, c := range map[string]struct{ line, want string }{
		"another text": {"Welcome to node7", "not a part"},
		"cut off":      {good[:len(good)-5], "damaged"},
		"only a mark":  {lineMark, "cut off"},
		"changed":      {good[:len(good)-9] + "AAAAA" + good[len(good)-4:], "damaged"},
	} {
		if _, err := decode([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	any, why := []byte("{}"), func(s string) []byte { return []byte(`{"why":"` + s + `"}`) }
	lies := map[string]message{
		"a rank in two kinds": {Kinds: []kindMessage{{any, newSet(1)}, {why("x"), newSet(1)}},
			Hosts: []hostMessage{{Ranks: newSet(1), PIDs: []int{5}}}},
		"a rank of no host": {Kinds: []kindMessage{{any, newSet(1, 2)}},
			Hosts: []hostMessage{{Ranks: newSet(1), PIDs: []int{5}}}},
		"a rank twice": {Kinds: []kindMessage{{any, newSet(1)}},
			Hosts: []hostMessage{{Ranks: newSet(1), PIDs: []int{5}}, {Ranks: newSet(1), PIDs: []int{6}}}},
		"fewer PIDs than ranks": {Kinds: []kindMessage{{any, newSet(1, 2)}},
			Hosts: []hostMessage{{Ranks: newSet(1, 2), PIDs: []int{5}}}},
		"a text without end": {Kinds: []kindMessage{{why(strings.Repeat("x", maxText+1)), newSet(1)}},
			Hosts: []hostMessage{{Ranks: newSet(1), PIDs: []int{5}}}},
		"no kind":            {Kinds: []kindMessage{{[]byte("7"), Set{}}}},
		"a path without end": {Files: map[string]File{"app": {Path: strings.Repeat("x", maxText+1)}}},
		"too many in detail": {Told: toldOf(maxTold + 1)},
		"a name without end": {Names: map[Site]Name{"app+1": {Function: strings.Repeat("x", maxText+1)}}},
	}
	for name, m := range lies {
		if _, err := new(Decoder).part(&m, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// toldOf returns words about n ranks.
func toldOf(n int) map[int][]string {
	out := map[int][]string{}
	for r := range n {
		out[r] = []string{"words"}
	}
	return out
}

// FuzzDecode decodes any bytes: the result is a Part that can be shown, or an error.
func FuzzDecode(f *testing.F) {
	p := partOf([]Answer{answer(3, computing()), answer(4, waiting("MPI_Barrier")), answer(9, Kind{Condition: Gone})})
	line, err := p.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(lineMark + "00000000 0 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := decode(b)
		if err != nil {
			return
		}
		q.Report("j")
		q.Merge(p)
		encode(t, q)
	})
}

// FuzzMessage is FuzzDecode without the checksum and the compression, which random bytes do not pass.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"size":4,"kinds":[{"kind":{"call":{"routine":"MPI_Recv","comm":"MPI_COMM_WORLD"}},"ranks":"0-1"}],` +
		`"hosts":[{"host":"n","ranks":"0-1","pids":"1,2","peers":"1,0","tags":"7,-"}],` +
		`"names":{"app+1":{"function":"main"}},"files":{"app":{"id":"00ff","path":"/bin/app"}},"told":{"1":["w"]}}`))
	f.Add([]byte(`{"kinds":[{"kind":{"finding":{"kind":"deadlock","certainty":"certain","severity":"hang",` +
		`"summary":"s"}},` +
		`"ranks":"7"}],` +
		`"hosts":[{"host":"n","ranks":"7","pids":"1"}],"lost":{"m":"gone"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := new(Decoder).unpack(b)
		if err != nil {
			return
		}
		m.Report("j")
		encode(t, m)
	})
}

// TestSets parses and formats ranges.
func TestSets(t *testing.T) {
	var s Set
	if err := s.UnmarshalText([]byte("0-3,7,9-10")); err != nil || s.Len() != 7 || s.String() != "0-3,7,9-10" {
		t.Errorf("%v: %v of %d", err, s, s.Len())
	}
	if got := s.Ranges(2); got != "0-3,7 and 2 more" {
		t.Errorf("two ranges: %q", got)
	}
	for _, bad := range []string{"x", "3-1", "-1", fmt.Sprint(MaxRanks), "0-99999999999"} {
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is accepted: %v", bad, s)
		}
	}
}

// TestClassify checks that a class contains no data that differs between ranks.
func TestClassify(t *testing.T) {
	pc := func(n uint64) *picture.Hex { return picture.Address(n) }
	peer, tag := 2, 77
	pic := func(base uint64, lwp int) *picture.Picture {
		return &picture.Picture{
			Target: picture.Target{Kind: "process", PID: lwp},
			Threads: []picture.Thread{
				{LWP: lwp, Role: picture.RoleInitial, MPI: &picture.MPICall{Routine: "MPI_Recv", Peer: &peer,
					Tag: &tag}, UserStack: []picture.Frame{
					{Kind: picture.FrameUser, Function: "PMPI_Recv", PC: pc(7), Module: "libmpi.so"},
					{Kind: picture.FrameUser, Function: "solve", File: "/src/hang.c", Line: 24, PC: pc(base + 0x20),
						Module: "hang", Inlined: true},
					{Kind: picture.FrameUser, Function: "main", File: "/src/hang.c", Line: 44, PC: pc(base + 0x20),
						Module: "hang"},
				}},
				{LWP: lwp + 1, Role: picture.RoleNone, UserStack: []picture.Frame{{Kind: picture.FrameUser,
					Function: "progress", PC: pc(base + 9)}}},
			},
			Verdicts: []picture.Verdict{{Kind: "deadlock", Severity: picture.SeverityHang, Certainty: picture.Certain,
				Summary: fmt.Sprintf("thread 0 (LWP %d) waits for lock l (0x%x)", lwp, base)}},
		}
	}
	of := func(base uint64, lwp int) Answer {
		return Classify(pic(base, lwp), func(pc picture.Hex) (picture.CodePlace, bool) {
			return picture.CodePlace{File: "4f1c", Path: "/bin/hang", Offset: uint64(pc) - base}, true
		})
	}
	a, b := of(0x1000, 50), of(0x7000, 90)
	if ka, kb := newGroup(a.Kind).key, newGroup(b.Kind).key; ka != kb {
		t.Errorf("two ranks differ:\n%s\n%s", ka, kb)
	}
	if a.Peer != 2 || *a.Tag != 77 || a.Call.Site != "4f1c+20" || a.Names["4f1c+20"].String() != "solve hang.c:24" {
		t.Errorf("peer %d, tag %v, called at %s, names %v", a.Peer, a.Tag, a.Call.Site, a.Names)
	}
	if want := (File{"4f1c", "/bin/hang"}); a.Files["4f1c"] != want {
		t.Errorf("files %v", a.Files)
	}
	if len(a.Threads) != 2 || a.Threads[0].State != "wait_mpi" || !a.Threads[1].Other {
		t.Errorf("classes %+v", a.Threads)
	}
	if a.Finding.Summary != "thread 0 waits for lock l" {
		t.Errorf("summary %q", a.Finding.Summary)
	}
}
