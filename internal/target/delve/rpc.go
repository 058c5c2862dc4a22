package delve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// maxReply bounds one reply, in bytes. The largest is the list of threads: about 600 bytes for each of 100,000.
const maxReply = 64 << 20

// maxPending bounds the requests that are sent before their replies are read: without any reply
// they must fit in the buffers of a connection.
const maxPending = 64

// failure is an error returned by Delve.
type failure string

func (f failure) Error() string { return string(f) }

// request is one call of a method of Delve.
type request struct {
	method string
	in     any
	out    any   // decoded result
	err    error // a failure of this call alone
}

// conn is a connection with JSON-RPC 1.0 in Delve's form: one JSON value per line, replies by number, not
// always in order.
type conn struct {
	address string
	timeout time.Duration

	mu   sync.Mutex
	c    net.Conn
	r    *bufio.Reader
	last uint64 // number of the last request
	err  error  // the error that ended the connection
}

// dial connects. An address that starts with a slash is that of a unix socket.
func dial(ctx context.Context, address string, timeout time.Duration) (*conn, error) {
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	c, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("no Delve at %s: %w: start it with `dlv exec --headless --accept-multiclient "+
			"--api-version=2 --listen=%s PROGRAM`", address, err, address)
	}
	return &conn{address: address, timeout: timeout, c: c, r: bufio.NewReaderSize(c, 1<<16)}, nil
}

// close ends the connection.
func (c *conn) close() error { return c.c.Close() }

// broken returns the error that ended the connection; nil while it works.
func (c *conn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// call makes one call.
func (c *conn) call(ctx context.Context, method string, in, out any) error {
	r := []request{{method: method, in: in, out: out}}
	if err := c.calls(ctx, r); err != nil {
		return err
	}
	return r[0].err
}

// calls makes calls, many of them in one round trip. The error is that of the connection, which is then closed.
func (c *conn) calls(ctx context.Context, list []request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(list) > 0 {
		n := min(len(list), maxPending)
		if err := c.exchange(ctx, list[:n], nil); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// tell makes a call without waiting for its reply, which is ignored, and then call r.
func (c *conn) tell(ctx context.Context, method string, in any, r *request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := []request{*r}
	err := c.exchange(ctx, one, &request{method: method, in: in})
	*r = one[0]
	return err
}

// exchange sends first, if not nil, and list, and reads the replies to list. The caller holds the lock.
func (c *conn) exchange(ctx context.Context, list []request, first *request) error {
	if c.err != nil {
		return c.err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := c.c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return c.lost(ctx, err)
	}
	var text []byte
	if first != nil {
		text = c.encode(text, first)
	}
	from := c.last + 1
	for i := range list {
		text = c.encode(text, &list[i])
	}
	if _, err := c.c.Write(text); err != nil {
		return c.lost(ctx, err)
	}
	for left := len(list); left > 0; {
		id, reply, err := c.read()
		if err != nil {
			return c.lost(ctx, err)
		}
		if at := id - from; at < uint64(len(list)) && id >= from { // otherwise the reply to an earlier call
			if err := list[at].take(reply); err != nil {
				return c.lost(ctx, err)
			}
			left--
		}
	}
	return nil
}

// encode appends the line of a request. Requests can always be encoded.
func (c *conn) encode(text []byte, r *request) []byte {
	c.last++
	line, _ := json.Marshal(struct {
		Method string `json:"method"`
		Params [1]any `json:"params"`
		ID     uint64 `json:"id"`
	}{"RPCServer." + r.method, [1]any{r.in}, c.last})
	return append(append(text, line...), '\n')
}

// reply is a reply of Delve.
type reply struct {
	ID     *uint64         `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
}

// errNotDelve means that the other end is not Delve.
var errNotDelve = errors.New("the answer is not one of Delve's")

// read reads one reply.
func (c *conn) read() (uint64, *reply, error) {
	var line []byte
	for {
		part, err := c.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxReply:
			return 0, nil, fmt.Errorf("a reply has more than %d bytes: %w", maxReply, errNotDelve)
		case err == nil:
			r := new(reply)
			memory := budget.NewLedger(budget.DefaultMemory)
			if jsonx.Unmarshal(line, r, memory, "an answer of Delve") != nil || r.ID == nil {
				return 0, nil, fmt.Errorf("%w: %.60q", errNotDelve, line)
			}
			return *r.ID, r, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, nil, err
		}
	}
}

// take decodes a reply.
func (r *request) take(from *reply) error {
	switch e := from.Error.(type) {
	case nil:
	case string:
		r.err = failure(e)
		return nil
	default:
		return fmt.Errorf("%s: %w: error %v", r.method, errNotDelve, e)
	}
	if r.out == nil {
		return nil
	}
	memory := budget.NewLedger(budget.DefaultMemory)
	if err := jsonx.Unmarshal(from.Result, r.out, memory, "an answer of Delve"); err != nil {
		return fmt.Errorf("%s: %w: %w", r.method, errNotDelve, err)
	}
	return nil
}

// lost ends the connection and returns the reason.
func (c *conn) lost(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, errNotDelve):
		err = fmt.Errorf("%s: %w: give the address that `dlv exec --headless` printed", c.address, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%s did not answer within %v: %w: it is not a Delve, or has one client only (start it with "+
			"--accept-multiclient), or the other client let the program run", c.address, c.timeout, err)
	default:
		err = fmt.Errorf("the connection to Delve at %s was lost: %w: if Delve runs still, ask again", c.address, err)
	}
	c.err = err
	_ = c.c.Close()
	return err
}
