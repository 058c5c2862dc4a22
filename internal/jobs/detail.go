package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// MaxDetail bounds the ranks that are inspected in detail, with all debug information: one of each verdict, and
// of each of the rarest classes.
const MaxDetail = 8

// Detail inspects some processes in detail, and passes the names of their places and their verdicts to emit. A
// process that cannot be read is skipped: the results of the first snapshot remain.
func Detail(ctx context.Context, list []Process, o Options, emit func(*job.Part)) {
	give := serialize(emit)
	each(ctx, len(list), o.Jobs, func(i int) {
		ctx, cancel := o.withLimit(ctx)
		defer cancel()
		p := list[i]
		_ = ask(ctx, strconv.Itoa(p.PID), o, o.reportQuestion(), func(_ *engine.Target, a *engine.Result) {
			give(explain(merge(p.base(), job.Classify(a.Picture, a.Locate)), a.Picture))
		})
	})
}

// DetailCores is Detail for cores of ranks.
func DetailCores(ctx context.Context, paths []string, o Options, emit func(*job.Part)) {
	give := serialize(emit)
	each(ctx, len(paths), o.Jobs, func(i int) {
		_ = ask(ctx, paths[i], o, o.reportQuestion(), func(_ *engine.Target, a *engine.Result) {
			if r := a.Picture.Target.Rank; r != nil {
				found := job.Classify(a.Picture, a.Locate)
				found.Rank = r.Rank
				give(explain(found, a.Picture))
			}
		})
	})
}

// explain returns the part of a rank that was inspected in detail.
func explain(a job.Answer, pic *picture.Picture) *job.Part {
	p := job.NewPart()
	p.Explain(a, verdictWords(pic))
	return p
}

// Limits of the words about a rank, in lines.
const (
	maxVerdicts = 3
	maxSteps    = 4
)

// verdictWords returns the verdicts that explain why a rank makes no progress, with the waits of its threads.
func verdictWords(pic *picture.Picture) (out []string) {
	n := 0
	for i := range pic.Verdicts {
		v := &pic.Verdicts[i]
		if v.Severity == picture.SeverityInfo || n == maxVerdicts {
			continue
		}
		n++
		out = append(out, fmt.Sprintf("%s  %s (%s)", diagnose.Heading(v), v.Summary, v.Certainty))
		for _, s := range v.Cycle[:min(len(v.Cycle), maxSteps)] {
			out = append(out, describeStep(s))
		}
	}
	return out
}

// describeStep describes the wait of one thread of a deadlock.
func describeStep(s picture.CycleStep) string {
	t := s.WaitsFor
	t.Address = nil
	out := fmt.Sprintf("LWP %d waits for %s", s.Thread, phrase.Target(t))
	if i := slices.IndexFunc(s.Frames, func(f picture.Frame) bool { return f.Line != 0 }); i >= 0 {
		out += " at " + phrase.Where(s.Frames[i])
	}
	if s.HeldBy != 0 {
		out += fmt.Sprintf("; LWP %d must continue first", s.HeldBy)
	}
	return out
}
