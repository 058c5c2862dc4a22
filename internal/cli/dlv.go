package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/sockets"
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// oneServer checks that there is exactly one address on the command line.
func oneServer(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("dlv: which Delve? `ompd-inspect dlv delve://HOST:PORT`")}
	}
	return nil
}

// dlvVerb returns the verb dlv, a proxy for a headless Delve.
func dlvVerb(a *app) *cobra.Command {
	var listen string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "dlv [flags] delve://HOST:PORT",
		Short: "Run a proxy for a headless Delve: show OpenMP in dlv, GoLand, vim and Gdlv", Args: oneServer,
		Long: `Relays between a headless Delve and its clients (dlv connect, GoLand, vim-go, Gdlv), and
adds OpenMP: goroutines get labels with their team and thread number, C threads get their
OpenMP name, and the expression "omp VERB" evaluates to the output of that verb of
ompd-inspect. omp.star adds the command omp to dlv's terminal. See docs/guide/delve.md.

It listens on a unix socket that only this user can connect to, for "dlv connect unix:PATH".
GoLand, vim-go and Gdlv need a TCP port: --listen 127.0.0.1:4712 --insecure-tcp. Delve's
protocol has no authentication: with --insecure-tcp, every user of this machine can connect,
call functions in the program, and so run code as you.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.refuseRemote("dlv"); err != nil {
				return err
			}
			address, err := delve.ParseAddress(args[0])
			if err != nil {
				return usageError{err}
			}
			if listen == "" {
				listen = sockets.Default("dlv")
			}
			if sockets.Path(listen) == "" && !insecure {
				const why = "dlv --listen %s: over TCP, every user of this machine could run code as you: give the " +
					"path of a unix socket, or accept this with --insecure-tcp"
				return usageError{fmt.Errorf(why, listen)}
			}
			restoreGC()
			return delves{editors{a}, args[0], address}.listen(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "path of a unix socket to listen on for clients; with "+
		"--insecure-tcp also a loopback address, such as 127.0.0.1:4712 (default: ompd-inspect-dlv.sock in "+
		"$XDG_RUNTIME_DIR, or in /tmp/ompd-inspect-UID)")
	cmd.Flags().BoolVar(&insecure, "insecure-tcp", false, "listen on TCP, without authentication: every user of this "+
		"machine can run code as you")
	return cmd
}

// delves is a proxy for one Delve.
type delves struct {
	editors
	name    string // address, as delve://…
	address string
}

// listen serves clients until a signal arrives.
func (d delves) listen(ctx context.Context, address string) error {
	l, _, err := listenAt(address, false)
	if err != nil {
		return err
	}
	return d.accept(ctx, l, maxEditors, "", func(ctx context.Context, conn net.Conn) {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		err := d.serve(ctx, conn)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(d.Stderr, "ompd-inspect: %v: %v\n", conn.RemoteAddr(), err)
		}
	})
}

// serve serves one client. Delve also accepts the Debug Adapter Protocol on the same port, so the first byte
// selects the protocol.
func (d delves) serve(ctx context.Context, conn net.Conn) error {
	in := bufio.NewReader(conn)
	first, err := in.Peek(1)
	if err != nil {
		return nil // the client closed the connection without a request
	}
	link, err := connectAdapter(ctx, d.address)
	if err != nil {
		return err
	}
	defer link.Close()
	if first[0] == 'C' { // Content-Length
		c := dap.ProxyConfig{Config: d.config(), Debugger: dap.Delve(), Attach: dap.Attach{Target: dap.Name(d.name)}}
		return dap.Proxy(ctx, in, conn, link, c)
	}
	s := &delveSession{delves: d, ctx: ctx, client: conn, server: link, asked: map[string]askedDelve{}}
	defer s.close()
	return s.relay(in)
}

// delveSession is one client of Delve's JSON-RPC, version 2 of its service.
type delveSession struct {
	delves
	ctx    context.Context
	client io.Writer
	server dap.Link

	mu    sync.Mutex            // guards the fields below, and writing to the client
	asked map[string]askedDelve // unanswered requests whose answers this proxy changes, by request ID
	look  *delveLook            // snapshot of the current stop; nil before the first

	looking sync.Mutex
	target  *engine.Target
}

// askedDelve is a request for a list.
type askedDelve struct {
	method string
	own    *ownLabels // of a list of goroutines; nil if it does not depend on labels that this proxy adds
}

// delveLook is a snapshot of one stop.
type delveLook struct {
	done chan struct{}
	pic  *picture.Picture // may be nil
}

// call contains the parts of a request that this proxy reads.
type call struct {
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
	ID     json.RawMessage   `json:"id"`
}

// relay passes the messages of both sides until one of them closes its connection.
func (s *delveSession) relay(in io.Reader) error {
	back := make(chan error, 1)
	go func() {
		err := contain.Run(func() error { return eachValue(s.server, s.fromDelve) })
		if c, ok := s.client.(io.Closer); ok {
			c.Close()
		}
		back <- err
	}()
	err := eachValue(in, s.fromClient)
	s.server.Close()
	return errors.Join(err, <-back)
}

// maxValue bounds one message of Delve or of its client, in bytes.
const maxValue = 64 << 20

// decodeDelve decodes a part of a message of Delve or of its client. A message that would take too much memory is
// passed unchanged.
func decodeDelve(text []byte, into any) error {
	return jsonx.Unmarshal(text, into, budget.NewLedger(budget.DefaultMemory), "a message")
}

// eachValue calls f with each JSON value of a stream.
func eachValue(from io.Reader, f func(json.RawMessage) error) error {
	bound := &io.LimitedReader{R: from}
	d := json.NewDecoder(bound)
	for {
		bound.N = maxValue
		var v json.RawMessage
		err := d.Decode(&v)
		switch {
		case err != nil && bound.N <= 0:
			return fmt.Errorf("a message of more than %d bytes", maxValue)
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, unix.ECONNRESET):
			return nil
		case err != nil:
			return fmt.Errorf("this is not Delve's JSON-RPC: %w", err)
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

// Methods of Delve's service that this proxy changes or observes.
const (
	listGoroutines = "RPCServer.ListGoroutines"
	listThreads    = "RPCServer.ListThreads"
	evalMethod     = "RPCServer.Eval"
)

// fromClient passes a request to Delve, or answers it.
func (s *delveSession) fromClient(v json.RawMessage) error {
	var c call
	if decodeDelve(v, &c) != nil {
		return s.send(s.server, v)
	}
	switch c.Method {
	case listGoroutines, listThreads:
		asked := askedDelve{method: c.Method}
		if c.Method == listGoroutines {
			asked.own, v = takeOwnLabels(v)
		}
		s.mu.Lock()
		s.asked[string(c.ID)] = asked
		s.mu.Unlock()
	case evalMethod:
		var p struct{ Expr string }
		if len(c.Params) > 0 && decodeDelve(c.Params[0], &p) == nil && strings.HasPrefix(p.Expr, "omp ") {
			go func() {
				logPanic(s.Stderr, contain.Run(func() error { return s.answerVerb(c.ID, strings.Fields(p.Expr)[1:]) }))
			}()
			return nil
		}
	case "RPCServer.Command", "RPCServer.Restart", "RPCServer.Detach", "RPCServer.Recorded":
		s.mu.Lock()
		s.look = nil // the program may run
		s.mu.Unlock()
	}
	return s.send(s.server, v)
}

// send writes a message.
func (s *delveSession) send(to io.Writer, v json.RawMessage) error {
	if to == s.client {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	_, err := to.Write(append(slices.Clip(v), '\n'))
	return err
}

// fromDelve passes a reply to the client, with OpenMP's state added.
func (s *delveSession) fromDelve(v json.RawMessage) error {
	var r struct {
		ID     json.RawMessage            `json:"id"`
		Result map[string]json.RawMessage `json:"result"`
		Error  any                        `json:"error"`
	}
	if decodeDelve(v, &r) != nil {
		return s.send(s.client, v)
	}
	s.mu.Lock()
	asked := s.asked[string(r.ID)]
	delete(s.asked, string(r.ID))
	s.mu.Unlock()
	if asked.method == "" || r.Error != nil {
		return s.send(s.client, v)
	}
	go func() { // other replies may overtake this one: clients match replies by ID
		pic := s.picture()
		logPanic(s.Stderr, contain.Run(func() error {
			switch {
			case pic != nil:
				enrich(asked, r.Result, pic)
			case asked.own != nil: // unselected, the list would be wrong
				const why = "the labels of OpenMP are not known: the program could not be read within %v; " +
					"`omp report` gives the reason"
				r.Result, r.Error = nil, fmt.Sprintf(why, delvePatience)
			default:
				return nil
			}
			text, err := json.Marshal(r)
			if err == nil {
				v = text
			}
			return err
		}))
		_ = s.send(s.client, v)
	}()
	return nil
}

// delvePatience is the longest time that a list waits for a snapshot. After that, the list is passed unchanged.
const delvePatience = 2 * time.Second

// picture returns the picture of the stopped program, made once per stop. It returns nil if that fails or takes
// longer than delvePatience.
func (s *delveSession) picture() *picture.Picture {
	s.mu.Lock()
	l := s.look
	if l == nil {
		l = &delveLook{done: make(chan struct{})}
		s.look = l
		go func() {
			defer close(l.done)
			logPanic(s.Stderr, contain.Run(func() error {
				return s.withTarget(func(t *engine.Target) error {
					answer, err := t.Look(s.ctx, engine.Report())
					if err != nil {
						return err
					}
					l.pic = answer.Picture
					return answer.Close()
				})
			}))
		}()
	}
	s.mu.Unlock()
	timer := time.NewTimer(delvePatience)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.pic
	case <-timer.C:
		return nil
	}
}

// withTarget calls f with the program under Delve. It opens the program once, and runs one f at a time.
func (s *delveSession) withTarget(f func(t *engine.Target) error) (err error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.target == nil {
		if s.target, err = s.openTarget(s.ctx, s.name); err != nil {
			return err
		}
	}
	return f(s.target)
}

// close closes the program.
func (s *delveSession) close() {
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.target != nil {
		_ = s.target.Close()
	}
}

// answerVerb answers an evaluation with the output of a verb, as a string variable.
func (s *delveSession) answerVerb(id json.RawMessage, words []string) error {
	if len(words) == 0 {
		words = []string{"report"}
	}
	text := fmt.Sprintf("omp %s: it must be one of %s\n", words[0], strings.Join(consoleVerbs, ", "))
	if slices.Contains(consoleVerbs, words[0]) {
		err := contain.Run(func() error {
			return s.withTarget(func(t *engine.Target) (err error) {
				text, err = s.runVerb(s.ctx, t, words)
				return err
			})
		})
		if logPanic(s.Stderr, err); err != nil {
			text = err.Error()
		}
	}
	const kindString = 24 // reflect.String
	variable := map[string]any{
		"name": "omp", "type": "string", "realType": "string", "kind": kindString, "value": text, "len": len(text),
		"children": []any{},
	}
	reply, err := json.Marshal(map[string]any{
		"id": id, "error": nil, "result": map[string]any{"Variable": variable},
	})
	if err != nil {
		return err
	}
	return s.send(s.client, reply)
}
