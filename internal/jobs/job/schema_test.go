package job

import (
	"encoding/json"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestSchema checks reports with all of their fields against the schema.
func TestSchema(t *testing.T) {
	root := 3
	full := waiting("MPI_Bcast")
	full.Call.Root, full.Call.AnySource, full.Call.Size, full.Call.Unknown = &root, true, 20, "tag"
	p := jobOf(20, full, map[int]Kind{9: {Condition: Stopped}, 3: {Condition: Silent, Why: "timed out"},
		4: deadlocked()}, nil)
	p.Lose("node77", "no route")
	p.Explain(Answer{Rank: 4}, []string{"DEADLOCK  2 threads wait for each other (certain)"})
	p.Add(Answer{Rank: 19, Kind: Kind{Condition: Crashed, Why: "SIGSEGV"}, Member: Member{Path: "core.19", Peer: -1}})
	r := p.Report("123")
	r.Partial, r.Seconds = true, 1.5
	for name, rep := range map[string]*Report{"full": r, "empty": NewPart().Report("nothing")} {
		b, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		omptest.Validate(t, "job", b)
		var back Report
		if err := json.Unmarshal(b, &back); err != nil || back.Ranks != rep.Ranks ||
			!back.Answered.Equal(rep.Answered) {
			t.Errorf("%s: %v: %+v is not %+v", name, err, back, rep)
		}
	}
	if r.Verdicts[0].Severity.Rank() > picture.SeverityHang.Rank() || len(r.Missing) != 2 {
		t.Errorf("verdicts %+v, missing %+v", r.Verdicts, r.Missing)
	}
}
