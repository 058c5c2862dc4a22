package recordtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// tally counts the read and the lost records of one ring.
type tally struct{ pthread, read, lost, dropped uint64 }

// take counts the new records of a ring, and checks that each contains its own number.
func (n *tally) take(t *testing.T, g *trace.Thread) {
	t.Helper()
	if g.Main.Damaged != 0 {
		t.Fatalf("ring %d: %d records are damaged", g.Index, g.Main.Damaged)
	}
	c := g.Main.Events()
	for e := (trace.Event{}); c.Next(&e); {
		if e.Code != trace.ThreadBegin {
			continue
		}
		for i := uint64(0); ; i++ {
			if e.A != e.Number+i || e.B != ^e.A {
				t.Fatalf("record %d behind %d is %s", i, e.Number, short(&e))
			}
			if len(e.More) == 0 {
				break
			}
			e.A, e.B = binary.LittleEndian.Uint64(e.More[16:]), binary.LittleEndian.Uint64(e.More[24:])
			e.More = e.More[32:]
		}
	}
	n.read += uint64(g.Main.Len())
	n.lost += g.Main.Lost
	n.dropped, n.pthread = g.Dropped, g.Pthread
}

// TestWriters reads rings while their writers, which signal handlers interrupt, write: no record is torn, and the
// written records are those read and those lost.
func TestWriters(t *testing.T) { writers(t, 8, 400_000, 0) }

// TestWritersSoak is TestWriters with 64 threads, a reader that reads each millisecond, and as many records
// read as the campaign recorder wants.
func TestWritersSoak(t *testing.T) {
	read := omptest.Number(t, "records", 0)
	if read == 0 {
		t.Skip("go run ./internal/testing/campaign recorder runs this")
	}
	writers(t, 64, math.MaxInt64, uint64(read))
}

// writers runs threads that each write a number of records, or until enough were read.
func writers(t *testing.T, threads int, records, enough uint64) {
	sources := []string{"stress.c", "-O2", "-D_GNU_SOURCE"}
	for _, name := range []string{"state", "ring", "recorder", "selection"} {
		sources = append(sources, "../../../recorder/"+name+".c")
	}
	exe := build(t, "gcc", sources[0], sources[1:]...)
	argv := []string{exe, fmt.Sprint(threads), fmt.Sprint(records)}
	p := runArgs(t, omptest.Runtime{Name: "none"}, argv, "OMPD_RECORDER_MEMORY="+fmt.Sprint(threads)+"M")
	done := make(chan string, 1)
	go func() {
		var all strings.Builder
		for line := ""; line != "DONE\n"; {
			var err error
			if line, err = p.out.ReadString('\n'); err != nil {
				break
			}
			all.WriteString(line)
		}
		done <- all.String()
	}()
	reader := open(t, p.Process.Pid)
	tallies := map[uint32]*tally{} // by ring
	said, read := "", uint64(0)
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for said == "" {
		select {
		case said = <-done: // once more after the end, for the rest
		default:
		}
		r, err := reader.New()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Threads {
			if tallies[g.Index] == nil {
				tallies[g.Index] = &tally{}
			}
			tallies[g.Index].take(t, g)
			read += uint64(g.Main.Len())
		}
		if enough == 0 {
			continue
		}
		if <-pause.C; read >= enough {
			if err := p.Process.Signal(unix.SIGUSR1); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkCounts(t, tallies, said, threads)
}

// checkCounts compares the counts of read and lost records with each thread's own counts.
func checkCounts(t *testing.T, tallies map[uint32]*tally, said string, threads int) {
	t.Helper()
	var read, lost uint64
	for line := range strings.Lines(said) {
		var pthread, written, failed uint64
		if n, _ := fmt.Sscan(line, &pthread, &written, &failed); n != 3 {
			continue
		}
		threads--
		for _, n := range tallies {
			if n.pthread != pthread {
				continue
			}
			const own = 1 // the record that identifies the ring's thread
			if n.read+n.lost != written+own || n.dropped != failed {
				t.Errorf("%+v; %d were written and %d dropped", *n, written, failed)
			}
			read, lost = read+n.read, lost+n.lost
		}
	}
	if threads != 0 || read == 0 || lost == 0 {
		t.Errorf("%d threads are missing; %d records read, %d lost, want both\n%s", threads, read, lost, said)
	}
	t.Logf("%d records read, %d lost", read, lost)
}
