package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// beyond contains the targets that this process does not read itself.
type beyond struct {
	server serverOptions
	at     *client.Client // an existing connection, or nil
	lent   *engine.Target // an open target, which is then the only one, or nil
}

// addFlags adds the flags that name a server.
func (b *beyond) addFlags(root *cobra.Command) { b.server.addFlags(root) }

// remote reports whether verbs inspect targets of a server.
func (b *beyond) remote() bool { return b.at != nil || b.server.address != "" }

// contains reports whether a target is read by a server or by Delve.
func (b *beyond) contains(name string) bool {
	return b.remote() || strings.HasPrefix(name, delve.Scheme)
}

// remoteTarget is a target of a server, which answers the questions.
type remoteTarget struct {
	*client.Target
	ctx   context.Context // valid while the target is open
	close func() error
}

// openRemote opens a target on the server that the flags name. It returns nil without such a flag.
func (a *app) openRemote(ctx context.Context, name string, _ engine.Options) (*engine.Target, error) {
	if !a.remote() {
		return nil, nil
	}
	r, err := openServed(ctx, a, name)
	if err != nil {
		return nil, err
	}
	return engine.NewAskerTarget(r), nil
}

// openServed opens a target on the server that the flags name.
func openServed(ctx context.Context, a *app, name string) (*remoteTarget, error) {
	c, done, err := a.client()
	if err != nil {
		return nil, err
	}
	spec, err := a.open.spec(name)
	if err != nil {
		return nil, errors.Join(err, done())
	}
	t, err := c.Open(ctx, spec)
	if err != nil {
		return nil, errors.Join(a.server.explainUnreached(err), done())
	}
	r := &remoteTarget{t, ctx, done}
	if a.at != nil && spec.GetDebugger() == "" { // the connection stays open
		r.close = func() error { return t.Close(context.WithoutCancel(ctx)) }
	}
	return r, nil
}

// Ask asks the server.
func (r *remoteTarget) Ask(ctx context.Context, q engine.Query) (*engine.Result, error) {
	if q.Breakpoints {
		return r.breakpoints(ctx)
	}
	pic, err := r.Picture(ctx, pictureParts(widen(q))...)
	if err != nil {
		return nil, err
	}
	keep, err := selectOnly(pic, q)
	if err != nil {
		return nil, err
	}
	keep.reduce(pic, q)
	var taskErr error
	tasks := func(yield func(picture.Task) bool) {
		for task, err := range r.Tasks(ctx, nil) {
			if taskErr = err; err != nil || keep.task(&task) && !yield(task) {
				return
			}
		}
	}
	return engine.NewResult(pic, tasks, func() error {
		after, err := r.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_HEADER)
		if err == nil && taskErr == nil {
			pic.Target.Pause, pic.Warnings = after.Target.Pause, after.Warnings
		}
		return errors.Join(taskErr, err)
	}), nil
}

// breakpoints asks for the breakpoint locations.
func (r *remoteTarget) breakpoints(ctx context.Context) (*engine.Result, error) {
	list := &picture.Breakpoints{Schema: picture.BreakpointSchema, Locations: []picture.Breakpoint{}}
	for b, err := range r.Breakpoints(ctx) {
		if err != nil {
			return nil, err
		}
		list.Locations = append(list.Locations, b)
	}
	pic, err := r.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_HEADER)
	if err != nil {
		return nil, err
	}
	list.Target, list.Runtimes, list.Warnings = pic.Target, pic.Runtimes, pic.Warnings
	answer := engine.NewResult(pic, nil, nil)
	answer.Breakpoints = list
	return answer, nil
}

// Watch takes several snapshots.
func (r *remoteTarget) Watch(ctx context.Context, interval time.Duration, count int) engine.Looks {
	return r.Looks(ctx, interval, count)
}

// Profile samples a process of the server until ctx ends, the time is over, or the process ends. The server takes the
// samples, and limits the time.
func (r *remoteTarget) Profile(ctx context.Context, o engine.ProfileOptions) (*picture.Profile, error) {
	p, err := r.Target.Profile(context.WithoutCancel(ctx), client.ProfileOptions{
		For: o.For, Samples: o.Samples, Started: o.Started, End: ctx.Done(),
	})
	var e *client.Error
	if errors.As(err, &e) && e.Reason == "NO_PROCESS" {
		return nil, engine.ErrNotWatched
	}
	return p, err
}

// Close closes the target.
func (r *remoteTarget) Close() error { return r.close() }

// pictureParts returns the parts of a picture that a question asks for, as values of the API.
func pictureParts(q engine.Query) []ompdv1.PicturePart {
	out := []ompdv1.PicturePart{ompdv1.PicturePart_PICTURE_PART_HEADER}
	for _, p := range []struct {
		wanted bool
		part   ompdv1.PicturePart
	}{
		{q.Threads, ompdv1.PicturePart_PICTURE_PART_THREADS}, {q.Regions, ompdv1.PicturePart_PICTURE_PART_REGIONS},
		{q.Tasks, ompdv1.PicturePart_PICTURE_PART_TASKS}, {q.ICVs, ompdv1.PicturePart_PICTURE_PART_ICVS},
		{q.Stacks, ompdv1.PicturePart_PICTURE_PART_STACKS}, {q.Native, ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS},
		{q.Verdicts, ompdv1.PicturePart_PICTURE_PART_VERDICTS}, {q.Layout, ompdv1.PicturePart_PICTURE_PART_LAYOUT},
		{q.Checks, ompdv1.PicturePart_PICTURE_PART_CHECKS}, {q.Devices, ompdv1.PicturePart_PICTURE_PART_DEVICES},
	} {
		if p.wanted {
			out = append(out, p.part)
		}
	}
	return out
}

// client returns the connection to the server. done closes it if it is used by one verb only.
func (a *app) client() (c *client.Client, done func() error, err error) {
	if a.at != nil {
		return a.at, func() error { return nil }, nil
	}
	if c, err = a.server.dial(); err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// explainUnreached adds a possible cause to an error of a TLS connection. A server closes connections with a
// certificate that it does not accept, sometimes before it sends the reason.
func (o serverOptions) explainUnreached(err error) error {
	var e *client.Error
	if o.ca != "" && errors.As(err, &e) && e.Code == codes.Unavailable {
		return fmt.Errorf("%w: if the server runs, it may need another certificate than that of --server-cert", err)
	}
	return err
}

// serverOptions contains the flags that control the connection to a server.
type serverOptions struct {
	address, tokenFile, ca, cert, key string
}

// dial returns a client for the server.
func (o serverOptions) dial() (*client.Client, error) {
	token, err := readToken("token", o.tokenFile)
	if err != nil {
		return nil, err
	}
	config, err := clientTLS(o)
	if err != nil {
		return nil, err
	}
	return client.Dial(o.address, client.Options{Token: token, TLS: config})
}

// lentPrefix is the prefix of the name, on the command line, of a target that a debugger lends to the server.
const lentPrefix = "debugger:"

// spec returns the target specification for a server, from a name and the flags of this command line.
func (o openOptions) spec(name string) (*ompdv1.TargetSpec, error) {
	if strings.HasPrefix(name, delve.Scheme) {
		return nil, usageError{fmt.Errorf("%s: a server cannot connect to Delve: leave out --server", name)}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("directory of %s: %w", name, err)
	}
	spec := &ompdv1.TargetSpec{
		Directory: dir, Exe: o.exe, Sysroot: o.sysroot, NoDebuginfod: o.noDebuginfod, NoStop: o.noStop,
		Sources: o.sources, Label: name,
	}
	for _, d := range o.debugDirs {
		if abs, err := filepath.Abs(d); err == nil {
			d = abs
		}
		spec.DebugDirs = append(spec.DebugDirs, d)
	}
	if lent, ok := strings.CutPrefix(name, lentPrefix); ok {
		spec.Source = &ompdv1.TargetSpec_Debugger{Debugger: lent}
	} else if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
		spec.Source = &ompdv1.TargetSpec_Pid{Pid: int64(pid)}
	} else {
		spec.Source = &ompdv1.TargetSpec_Core{Core: name}
	}
	return spec, nil
}
