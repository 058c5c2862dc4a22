package dap

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
)

// verbProfile is the verb that samples a process for a time.
const verbProfile = "profile"

// profileFor is the time of a profile without an end.
const profileFor = 5 * time.Second

// startProfile starts the profile of the process, and returns errLater. The profile has a target of its own, so that
// other requests are answered meanwhile. If the client cancels the request, the answer is the profile so far.
func (a *adapter) startProfile(ctx context.Context, words []string) error {
	if a.isProfiling() {
		return errors.New("a profile is in progress: wait for it, or cancel it")
	}
	t, err := a.openAgain()
	if err != nil {
		return err
	}
	r, line := a.current, slices.Concat([]string{verbProfile, "--quiet"}, limited(words))
	a.profile = r
	a.samples.Go(func() {
		var body godap.EvaluateResponseBody
		err := a.contain(func() error {
			out, err := a.config.Verb(ctx, t, line)
			body.Result = strings.TrimRight(out, "\n")
			return errors.Join(err, t.Close())
		})
		a.finish(r, body, err)
	})
	return errLater
}

// isProfiling reports whether the last profile is in progress.
func (a *adapter) isProfiling() bool {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	return a.profile != nil && a.pending[a.profile.Seq] == a.profile
}

// endProfile ends the profile in progress, if there is one. Its answer is the profile so far.
func (a *adapter) endProfile() {
	if a.profile != nil {
		a.profile.cancel()
	}
	a.samples.Wait()
}

// limited returns the words of a profile with its time: a word such as 10s, the user's flags, or profileFor.
func limited(words []string) []string {
	isLimit := func(w string) bool { return strings.HasPrefix(w, "--for") || strings.HasPrefix(w, "--samples") }
	if slices.ContainsFunc(words, isLimit) {
		return words
	}
	out, length := make([]string, 0, len(words)+1), profileFor
	for _, w := range words {
		if d, err := time.ParseDuration(w); err == nil && d > 0 {
			length = d
			continue
		}
		out = append(out, w)
	}
	return append(out, "--for="+length.String())
}

// openAgain opens the process of this session once more.
func (a *adapter) openAgain() (*engine.Target, error) {
	switch {
	case !a.isLive():
		return nil, errors.New("a core stands still: only a process has a profile")
	case a.held, a.dying != nil:
		return nil, errors.New("the process is stopped: `continue` lets it run, then it can be profiled")
	case a.program != nil:
		return a.program.Open(a.view.pic.Target.PID)
	}
	return a.config.Open(a.life, a.attachment)
}
