package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxStacksSent bounds the stacks in the profile of a rank, so that it fits into a line.
const maxStacksSent = 1 << 10

// Profile samples some processes at the same time, and passes the profile of each to emit, as JSON, with the rank's own
// data. A process that ctx ends early has a profile, too.
func Profile(ctx context.Context, list []Process, o Options, p engine.ProfileOptions, emit func(*job.Part)) {
	give := serialize(emit)
	var all sync.WaitGroup
	for _, process := range list {
		all.Go(func() {
			part := job.NewPart()
			text, err := process.profile(ctx, o, p)
			if err != nil {
				part.Add(process.failed(err))
			} else {
				part.Add(process.base())
				part.Show(process.Rank.Rank, text)
			}
			give(part)
		})
	}
	all.Wait()
}

// profile returns the profile of a process, as JSON. Its warnings contain the number of stacks that are left out.
func (p Process) profile(ctx context.Context, o Options, options engine.ProfileOptions) (text []byte, err error) {
	t, err := engine.Open(context.WithoutCancel(ctx), strconv.Itoa(p.PID), o.Open)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	found, err := t.Profile(ctx, options)
	if err != nil {
		return nil, err
	}
	return marshalProfile(found)
}

// marshalProfile returns a profile as JSON, with the largest stacks.
func marshalProfile(p *picture.Profile) ([]byte, error) {
	if n := len(p.Stacks) - maxStacksSent; n > 0 {
		p.Stacks = p.Stacks[:maxStacksSent]
		p.Warnings = append(p.Warnings, "some ranks have more stacks than are sent: the smallest are left out")
	}
	return json.Marshal(p)
}
