package job

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// replayed returns the lines that the nodes of a large job send: all ranks but guilty wait in a collective and
// have 64 threads; some of each hundred ranks have a thread at another place.
func replayed(tb testing.TB, ranks, perNode, guilty int) (lines [][]byte, bytes int) {
	tb.Helper()
	noise := make([]Kind, 5)
	for i := range noise {
		noise[i] = waiting("MPI_Allreduce")
		late := ThreadClass{State: "work_parallel", Where: []Site{"app+10", Site(fmt.Sprintf("app+%x", 0x100+i)),
			"app+77"}}
		noise[i].Threads = []Count{{late, 1}, {idle, 62}, noise[i].Threads[0], {library, 4}}
	}
	usual := waiting("MPI_Allreduce")
	usual.Threads = []Count{{idle, 63}, usual.Threads[0], {library, 4}}
	for base := 0; base < ranks; base += perNode {
		p := NewPart()
		for r := base; r < min(base+perNode, ranks); r++ {
			k := usual
			switch {
			case r == guilty:
				k = deadlocked()
			case r%97 == 3:
				k = noise[r%len(noise)]
			}
			a := answer(r, k)
			a.Size, a.Host, a.PID = ranks, fmt.Sprintf("node%05d", base/perNode), 4000+r*7919%30000
			p.put(a)
		}
		line, err := p.Encode()
		if err != nil {
			tb.Fatal(err)
		}
		lines, bytes = append(lines, line), bytes+len(line)
	}
	return lines, bytes
}

// mergeLines merges the lines of nodes.
func mergeLines(tb testing.TB, lines [][]byte) *Part {
	tb.Helper()
	all, d := NewPart(), Decoder{}
	for _, l := range lines {
		p, err := d.Decode(l)
		if err != nil {
			tb.Fatal(err)
		}
		all.Merge(p)
	}
	return all
}

// TestReplay checks that the guilty one of 10,000 ranks is named, even if some nodes answer twice.
func TestReplay(t *testing.T) {
	const ranks, guilty = 10_000, 4217
	lines, size := replayed(t, ranks, 8, guilty)
	r := mergeLines(t, append(lines, lines[:50]...)).Report("123456")
	if len(r.Verdicts) == 0 || r.Verdicts[0].Ranks.String() != "4217" || r.Verdicts[0].Waiting.Len() != ranks-1 {
		t.Fatalf("verdicts %+v, want rank %d that all others wait for", r.Verdicts, guilty)
	}
	if r.Ranks != ranks || r.Hosts != 1250 || r.Threads != (ranks-1)*68+2 || len(r.Classes) != 8 {
		t.Errorf("%d ranks, %d hosts, %d threads, %d classes", r.Ranks, r.Hosts, r.Threads, len(r.Classes))
	}
	const most = 3_000_000
	if size > most {
		t.Errorf("the messages have %d bytes, more than %d", size, most)
	}
}

// BenchmarkMerge merges the parts of the nodes of large jobs, and draws the verdicts.
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct{ ranks, perNode int }{{10_000, 8}, {1_000_000, 64}} {
		b.Run(fmt.Sprintf("%d", c.ranks), func(b *testing.B) {
			lines, size := replayed(b, c.ranks, c.perNode, c.ranks/2)
			before, n := cpuTime(b), 0
			for b.Loop() {
				if r := mergeLines(b, lines).Report("j"); len(r.Verdicts) == 0 {
					b.Fatal("no verdict")
				}
				n++
			}
			b.ReportMetric((cpuTime(b)-before)/float64(n), "cpu-s/op")
			b.ReportMetric(float64(size)/1e6, "MB-messages")
		})
	}
}

// cpuTime returns the CPU time of this process, in seconds, which does not depend on other users of the
// machine.
func cpuTime(tb testing.TB) float64 {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
