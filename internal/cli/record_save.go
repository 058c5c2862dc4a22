package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/session"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// keep writes what was recorded of a process that is about to end.
func (r *runner) keep(pid int) {
	if r.kept[pid] {
		return // it was written when it was reported
	}
	err := r.keepOnce(pid)
	// The thread that ends the process stands, but the others die meanwhile, the first one
	// among them: what was read of one that has no memory any more is read of another.
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

// leftTold bounds the processes left behind that are told one by one.
const leftTold = 16

// unsaved tells why there is no file of what was recorded, though one is wanted: no process that ended had
// recorded anything, or those that have go on.
func (r *runner) unsaved(left []int) {
	if r.save == "" {
		return
	}
	if r.saves == 0 && !r.lost {
		fmt.Fprintf(r.Stderr, "ompd-inspect: %s was not written: no process recorded an event before it ended (one "+
			"that SIGKILL ends leaves nothing)\n", r.save)
	}
	for _, pid := range left[:min(len(left), leftTold)] {
		p, err := live.Open(pid, live.Options{})
		if err != nil {
			continue // it has ended
		}
		if _, err := trace.OpenNamed(p, p.Mappings(), pid); err == nil {
			fmt.Fprintf(r.Stderr, "ompd-inspect: process %d goes on and is no longer watched: `ompd-inspect trace %d` "+
				"shows what it records\n", pid, pid)
		}
		_ = p.Close()
	}
}

// keepTries is how often one tries again.
const keepTries = 100

func (r *runner) keepOnce(pid int) (err error) {
	p, err := r.program.Open(pid, live.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return r.writeRecording(p)
}

// writeRecording writes what was recorded of a process, if that is wanted and if anything was:
// the first into the file of that name, those of others with their numbers behind it.
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
	if err == nil {
		ranges, err = reader.Ranges()
	}
	if err != nil {
		return fmt.Errorf("what was recorded: %w", err)
	}
	if len(ranges) == 0 {
		return nil // no thread of it made an event
	}
	if h, err := session.OfProcess(p, nil, r.open.session()).History(); err == nil {
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
		return fmt.Errorf("what was recorded: %w", err)
	}
	if err := live.WriteParts(p, f.File, parts); err != nil {
		return fmt.Errorf("what was recorded: %w", errors.Join(err, f.Discard()))
	}
	r.kept[pid] = true
	r.saves++
	return f.Commit()
}
