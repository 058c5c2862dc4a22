package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// defaultSample is the time for which CPU use is measured. The kernel counts it in steps of 10 ms.
const defaultSample = 200 * time.Millisecond

// psVerb returns the verb ps.
func (a *app) psVerb() *cobra.Command {
	sample := defaultSample
	cmd := &cobra.Command{
		Use: "ps", Short: "List the processes of this machine that use OpenMP (the default without a target)",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ps(cmd.Context(), sample) },
	}
	cmd.Flags().DurationVar(&sample, "sample", defaultSample, "time to measure CPU use for (0: show the average since "+
		"the start of each process)")
	return cmd
}

func (a *app) ps(ctx context.Context, sample time.Duration) (err error) {
	if sample < 0 {
		return usageError{fmt.Errorf("--sample %v: it must not be negative", sample)}
	}
	find := processes
	if a.remote() {
		c, done, err := a.client()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		find = c.Processes
	}
	list, err := find(ctx, sample)
	if err != nil {
		return err
	}
	p, err := a.printer(a.Stdout)
	if err != nil {
		return err
	}
	return p.Processes(list)
}

// processes returns the processes of this machine that use OpenMP.
func processes(ctx context.Context, sample time.Duration) (*picture.Processes, error) {
	known := moduleKinds{}
	found, hidden, err := live.Processes(ctx, known.classify, sample)
	if err != nil {
		return nil, err
	}
	list := &picture.Processes{Schema: picture.ProcessSchema, Processes: []picture.Process{}, Hidden: hidden.Count}
	list.SetReadable(hidden.Readable)
	if hidden.Err != nil {
		list.HiddenReason = hidden.Err.Error()
	}
	for _, c := range found {
		list.Processes = append(list.Processes, known.describe(c))
	}
	return list, nil
}

// refuseRemote returns an error if a server is named, for a verb that works on this machine only.
func (a *app) refuseRemote(verb string) error {
	if a.remote() {
		return usageError{fmt.Errorf("%s works on this machine only: run it on the server's machine", verb)}
	}
	return nil
}

// moduleKinds maps the keys that classify returns to functions that describe a module of that kind at a path.
type moduleKinds map[string]func(path string) picture.ProcessCode

// classify classifies a module by its symbols and texts. It is an argument of live.Processes.
func (k moduleKinds) classify(defines, contains func(string) bool) (string, bool) {
	asked := map[string]bool{}
	kind, ok := readers.Recognize(func(name string) bool {
		asked[name] = defines(name)
		return asked[name]
	}, "")
	key := kind.Family + " " + kind.Version
	if ok {
		k[key] = func(path string) picture.ProcessCode {
			kind, _ := readers.Recognize(func(name string) bool { return asked[name] }, path)
			return picture.ProcessCode{Family: kind.Family, Name: kind.Name, Version: kind.Version}
		}
		return key, true
	}
	if kind, ok = readers.RecognizeStripped(contains); ok {
		key = kind.Family + " stripped"
		k[key] = func(string) picture.ProcessCode {
			return picture.ProcessCode{Family: kind.Family, Name: kind.Name,
				InferredFrom: "texts of its own, as the executable is stripped"}
		}
	}
	return key, ok
}

// describe describes a candidate.
func (k moduleKinds) describe(c live.Candidate) picture.Process {
	p := picture.Process{
		PID: c.PID, User: c.User, Executable: c.Executable, Command: c.Command, State: processState(c.State),
		Threads: c.Threads,
		Started: c.Started.Format(time.RFC3339), CPU: c.CPU,
	}
	for _, m := range c.Runtimes {
		code := k[m.Family](m.Path)
		code.Path, code.Static = m.Path, m.Path == c.Executable
		p.Runtimes = append(p.Runtimes, code)
	}
	return p
}

// processState returns the word for a state of ps(1).
func processState(s byte) string {
	words := map[byte]string{
		'R': "running", 'S': "sleeping", 'D': "waiting for I/O", 'T': "stopped", 't': "held by a debugger",
		'Z': "ended", 'X': "ended", 'I': "idle",
	}
	return cmp.Or(words[s], string(s))
}
