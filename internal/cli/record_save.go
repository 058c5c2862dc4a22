package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// keep writes the recorded events of a process that is about to exit.
func (r *runner) keep(pid int) {
	if r.kept[pid] {
		return // written when the process was reported
	}
	err := r.keepOnce(pid)
	// The thread that ends the process is stopped, but the other threads die meanwhile, possibly the first one
	// included. The memory is then read through another thread.
	for range keepTries {
		if !errors.Is(err, live.ErrExited) {
			break
		}
		time.Sleep(time.Millisecond)
		err = r.keepOnce(pid)
	}
	if err != nil {
		fmt.Fprintf(r.Stderr, "ompd-inspect: process %d: %v\n", pid, err)
		r.lost = true
	}
}

// leftTold is the number of remaining processes that are reported one by one.
const leftTold = 16

// reportUnsaved reports why no file of recorded events was written: no process that ended had recorded an
// event, or the processes with events continue.
func (r *runner) reportUnsaved(left []int) {
	if r.save == "" {
		return
	}
	if r.saves == 0 && !r.lost {
		why := "a process that SIGKILL ends leaves no events"
		switch {
		case isStatic(r.name):
			why = r.name + " is linked statically, so that the recorder is not loaded"
		case isPrivileged(r.name):
			why = r.name + " has set-user-ID or set-group-ID, so that the recorder is not loaded"
		}
		fmt.Fprintf(r.Stderr, "ompd-inspect: %s was not written: no process recorded an event before it ended (%s)\n",
			r.save, why)
	}
	for _, pid := range left[:min(len(left), leftTold)] {
		p, err := live.Open(pid, live.Options{})
		if err != nil {
			continue // it has ended
		}
		if _, err := trace.OpenNamed(p, p.Mappings(), pid); err == nil {
			fmt.Fprintf(r.Stderr, "ompd-inspect: process %d continues and is no longer watched: `ompd-inspect trace "+
				"%d` "+
				"shows what it records\n", pid, pid)
		}
		_ = p.Close()
	}
}

// keepTries is the number of attempts to read the events of a process.
const keepTries = 100

func (r *runner) keepOnce(pid int) (err error) {
	p, err := r.program.Open(pid, live.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return r.writeRecording(p)
}

// recordedItself reports whether a process recorded an event since it was forked. Before that, it has only those of
// its parent.
func recordedItself(reader *trace.Reader) bool {
	rec, err := reader.Latest(latestEvents)
	if err != nil || rec.Parent == 0 {
		return true
	}
	var forked uint64
	for _, e := range rec.Events(0) {
		if e.Code == trace.NewFork {
			forked = e.Time
		}
	}
	return forked == 0 || slices.ContainsFunc(rec.Threads, func(t *trace.Thread) bool {
		return t.Life != trace.Inherited && t.Last > forked
	})
}

// latestEvents is the number of records of each ring that are read to find the fork: it is the last one if the
// process recorded no event since then.
const latestEvents = 4

// writeRecording writes the recorded events of a process, if --save is set and there are any. The first process
// writes to the file of --save, others append their number to the name.
func (r *runner) writeRecording(p *live.Process) error {
	pid := p.Info().PID
	if r.save == "" || r.kept[pid] {
		return nil
	}
	reader, err := trace.OpenNamed(p, p.Mappings(), pid)
	if errors.Is(err, trace.ErrNone) {
		return nil
	}
	var ranges []trace.Range
	if err == nil && !recordedItself(reader) {
		return nil
	}
	if err == nil {
		ranges, err = reader.Ranges()
	}
	if err != nil {
		return fmt.Errorf("recorded events: %w", err)
	}
	if len(ranges) == 0 {
		return nil // no thread of it recorded an event
	}
	if h, err := history.Open(engine.NewProcessTarget(p, nil, r.open.engineOptions())); err == nil {
		ranges = append(ranges, h.Named()...)
		_ = h.Close()
	}
	parts := make([]corefile.Range, len(ranges))
	for i, part := range ranges {
		parts[i] = corefile.Range(part)
	}
	name := r.save
	if r.saves > 0 {
		name += fmt.Sprintf(".%d", pid)
	}
	f, err := outfile.Create(name, r.coreOptions())
	if err != nil {
		return fmt.Errorf("recorded events: %w", err)
	}
	if err := live.WriteParts(p, f.File, parts); err != nil {
		return fmt.Errorf("recorded events: %w", errors.Join(err, f.Discard()))
	}
	r.kept[pid] = true
	r.saves++
	return f.Commit()
}
