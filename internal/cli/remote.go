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
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// beyond are the targets that are not looked at by this process itself.
type beyond struct {
	server serverOptions
	at     *client.Client  // a connection that is there already; nil without
	lent   *session.Target // a target that is open already, the only one then; nil without
}

// flags adds the flags that name a server.
func (b *beyond) flags(root *cobra.Command) { b.server.flags(root) }

// remote reports whether verbs look at targets of a server.
func (b *beyond) remote() bool { return b.at != nil || b.server.address != "" }

// has reports whether a target is one of them.
func (b *beyond) has(name string) bool { return b.remote() || strings.HasPrefix(name, delve.Scheme) }

// remoteTarget is a target of a server. It answers by itself.
type remoteTarget struct {
	*client.Target
	ctx   context.Context // of the whole use of the target
	close func() error
}

// openRemote opens a target at the server that the flags name. It opens none if they
// name no server.
func (a *app) openRemote(ctx context.Context, name string, _ session.Options) (*session.Target, error) {
	if !a.remote() {
		return nil, nil
	}
	r, err := openServed(ctx, a, name)
	if err != nil {
		return nil, err
	}
	return session.OfAsker(r), nil
}

// openServed opens a target at the server that the flags name.
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
		return nil, errors.Join(a.server.unreached(err), done())
	}
	r := &remoteTarget{t, ctx, done}
	if a.at != nil && spec.GetDebugger() == "" { // the connection goes on
		r.close = func() error { return t.Close(context.WithoutCancel(ctx)) }
	}
	return r, nil
}

// Ask asks the server.
func (r *remoteTarget) Ask(ctx context.Context, q session.Question) (*session.Answer, error) {
	if q.Breakpoints {
		return r.breakpoints(ctx)
	}
	pic, err := r.Picture(ctx, parts(wider(q))...)
	if err != nil {
		return nil, err
	}
	keep, err := kept(pic, q)
	if err != nil {
		return nil, err
	}
	keep.leave(pic, q)
	var taskErr error
	tasks := func(yield func(picture.Task) bool) {
		for task, err := range r.Tasks(ctx, nil) {
			if taskErr = err; err != nil || keep.task(&task) && !yield(task) {
				return
			}
		}
	}
	return session.NewAnswer(pic, tasks, func() error {
		after, err := r.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_HEADER)
		if err == nil && taskErr == nil {
			pic.Target.Pause, pic.Warnings = after.Target.Pause, after.Warnings
		}
		return errors.Join(taskErr, err)
	}), nil
}

// breakpoints asks for the breakpoint locations.
func (r *remoteTarget) breakpoints(ctx context.Context) (*session.Answer, error) {
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
	answer := session.NewAnswer(pic, nil, nil)
	answer.Breakpoints = list
	return answer, nil
}

// Watch looks several times.
func (r *remoteTarget) Watch(ctx context.Context, interval time.Duration, count int) session.Looks {
	return r.Looks(ctx, interval, count)
}

// Close ends the use of the target.
func (r *remoteTarget) Close() error { return r.close() }

// parts are the parts of a picture that a question asks for, in the words of the API.
func parts(q session.Question) []ompdv1.PicturePart {
	out := []ompdv1.PicturePart{ompdv1.PicturePart_PICTURE_PART_HEADER}
	for _, p := range []struct {
		wanted bool
		part   ompdv1.PicturePart
	}{
		{q.Threads, ompdv1.PicturePart_PICTURE_PART_THREADS}, {q.Regions, ompdv1.PicturePart_PICTURE_PART_REGIONS},
		{q.Tasks, ompdv1.PicturePart_PICTURE_PART_TASKS}, {q.ICVs, ompdv1.PicturePart_PICTURE_PART_ICVS},
		{q.Stacks, ompdv1.PicturePart_PICTURE_PART_STACKS}, {q.Native, ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS},
		{q.Verdicts, ompdv1.PicturePart_PICTURE_PART_VERDICTS}, {q.Layout, ompdv1.PicturePart_PICTURE_PART_LAYOUT},
		{q.Checks, ompdv1.PicturePart_PICTURE_PART_CHECKS},
	} {
		if p.wanted {
			out = append(out, p.part)
		}
	}
	return out
}

// client is the connection to the server; done ends it, if it is for one verb.
func (a *app) client() (c *client.Client, done func() error, err error) {
	if a.at != nil {
		return a.at, func() error { return nil }, nil
	}
	if c, err = a.server.dial(); err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// unreached says what may be the cause if a server cannot be talked to by TLS. It
// breaks connections whose certificate it does not take, at times before it says so.
func (o serverOptions) unreached(err error) error {
	var e *client.Error
	if o.ca != "" && errors.As(err, &e) && e.Code == codes.Unavailable {
		return fmt.Errorf("%w: if the server is there, it may want another certificate than that of --server-cert", err)
	}
	return err
}

// serverOptions are the flags that say how to reach a server.
type serverOptions struct {
	address, tokenFile, ca, cert, key string
}

// dial prepares the connection to the server.
func (o serverOptions) dial() (*client.Client, error) {
	token, err := readToken(o.tokenFile)
	if err != nil {
		return nil, err
	}
	config, err := clientTLS(o)
	if err != nil {
		return nil, err
	}
	return client.Dial(o.address, client.Options{Token: token, TLS: config})
}

// lentPrefix begins the name of a target that a debugger lends to the server, on
// the command line.
const lentPrefix = "debugger:"

// spec says to a server what name and the flags mean on this command line.
func (o openOptions) spec(name string) (*ompdv1.TargetSpec, error) {
	if strings.HasPrefix(name, delve.Scheme) {
		return nil, usageError{fmt.Errorf("%s: a server connects to no Delve: leave --server out", name)}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("which directory is %s in: %w", name, err)
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
