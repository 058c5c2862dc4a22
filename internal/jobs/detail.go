package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// MaxDetail bounds the ranks that are looked at in detail, with all debug information: one of
// each verdict, and of each of the rarest classes.
const MaxDetail = 8

// Detail looks at some processes in detail, and tells what their places are called and what is
// wrong with each. Of one that cannot be read nothing is told: what the first look found
// stands.
func Detail(ctx context.Context, list []Process, o Options, tell func(*job.Part)) {
	give := serial(tell)
	each(ctx, len(list), o.Jobs, func(i int) {
		ctx, cancel := o.within(ctx)
		defer cancel()
		p := list[i]
		_ = ask(ctx, strconv.Itoa(p.PID), o, o.report(), func(_ *session.Target, a *session.Answer) {
			give(explained(joined(p.base(), job.Of(a.Picture, a.Locate)), a.Picture))
		})
	})
}

// DetailCores is Detail for cores of ranks.
func DetailCores(ctx context.Context, paths []string, o Options, tell func(*job.Part)) {
	give := serial(tell)
	each(ctx, len(paths), o.Jobs, func(i int) {
		_ = ask(ctx, paths[i], o, o.report(), func(_ *session.Target, a *session.Answer) {
			if r := a.Picture.Target.Rank; r != nil {
				found := job.Of(a.Picture, a.Locate)
				found.Rank = r.Rank
				give(explained(found, a.Picture))
			}
		})
	})
}

// explained is what a look in detail at a rank tells.
func explained(a job.Answer, pic *picture.Picture) *job.Part {
	p := job.NewPart()
	p.Explain(a, words(pic))
	return p
}

// Bounds of what is told of a rank, in lines.
const (
	maxVerdicts = 3
	maxSteps    = 4
)

// words are the verdicts on a rank that say why it comes no further, with who waits for what.
func words(pic *picture.Picture) (out []string) {
	n := 0
	for i := range pic.Verdicts {
		v := &pic.Verdicts[i]
		if v.Severity == picture.SeverityInfo || n == maxVerdicts {
			continue
		}
		n++
		out = append(out, fmt.Sprintf("%s  %s (%s)", diagnose.Heading(v), v.Summary, v.Certainty))
		for _, s := range v.Cycle[:min(len(v.Cycle), maxSteps)] {
			out = append(out, step(s))
		}
	}
	return out
}

// step is what one thread of a deadlock waits for.
func step(s picture.CycleStep) string {
	t := s.WaitsFor
	t.Address = nil
	out := fmt.Sprintf("LWP %d waits for %s", s.Thread, phrase.Target(t))
	if i := slices.IndexFunc(s.Frames, func(f picture.Frame) bool { return f.Line != 0 }); i >= 0 {
		out += " at " + phrase.Where(s.Frames[i])
	}
	if s.HeldBy != 0 {
		out += fmt.Sprintf("; LWP %d must go on first", s.HeldBy)
	}
	return out
}
