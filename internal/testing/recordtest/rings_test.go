package recordtest

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

const (
	fromOMPT    = 1 // header.Source
	fromLibgomp = 2
)

// ring is a ring of a program at rest, with its events in their order.
type ring struct {
	*trace.Thread
	main, rare []trace.Event
}

// recording is the record in a process.
type recording struct {
	*trace.Recording
	rings []ring
}

// readRecording reads the rings of a process that makes no events: no record is damaged, and only overwritten
// ones are missing.
func readRecording(t *testing.T, pid int) recording {
	t.Helper()
	return read(t, open(t, pid))
}

// read is readRecording with an existing reader.
func read(t *testing.T, reader *trace.Reader) recording {
	t.Helper()
	all, err := reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range all.Problems {
		t.Error(problem)
	}
	r := recording{Recording: all}
	for _, g := range all.Threads {
		if g.Main.Damaged+g.Rare.Damaged != 0 || g.Torn {
			t.Errorf("ring %d: %d and %d records damaged, torn: %v", g.Index, g.Main.Damaged, g.Rare.Damaged, g.Torn)
		}
		if g.Main.First+uint64(g.Main.Len()) != g.Main.Written || g.Rare.First+uint64(g.Rare.Len()) != g.Rare.Written {
			t.Errorf("ring %d: the copies do not end with the newest records", g.Index)
		}
		r.rings = append(r.rings, ring{g, list(&g.Main), list(&g.Rare)})
	}
	return r
}

// open finds the recorder of a process.
func open(t *testing.T, pid int) *trace.Reader {
	t.Helper()
	process, err := live.Open(pid, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	reader, err := trace.OpenNamed(process, process.Mappings(), pid)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// list returns the events of a run.
func list(run *trace.Run) (out []trace.Event) {
	c := run.Events()
	for e := (trace.Event{}); c.Next(&e); {
		out = append(out, e)
	}
	return out
}

// ringOf returns the ring of a live thread.
func (r recording) ringOf(t *testing.T, lwp int) ring {
	t.Helper()
	for _, g := range r.rings {
		if g.LWP == uint32(lwp) && g.Life == trace.Alive {
			return g
		}
	}
	t.Fatalf("LWP %d has no ring among %d", lwp, len(r.rings))
	return ring{}
}

// last returns the newest event of the main ring.
func (g ring) last() *trace.Event { return &g.main[len(g.main)-1] }

// short formats an event for messages.
func short(e *trace.Event) string {
	return fmt.Sprintf("%d:%d endpoint %d value %d at %#x a %#x b %#x",
		e.Code, e.Kind, e.Endpoint, e.Value, e.PC, e.A, e.B)
}
