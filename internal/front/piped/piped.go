// Package piped carries calls of the API over a pipe as JSON, for debuggers without gRPC in their scripting
// language. The messages are those of proto/ompd/v1, and the calls are made on a gRPC connection: one protocol,
// two carriers.
//
// Both sides write frames: the length of the payload (4 bytes, big endian), the number of the call (4 bytes),
// the kind of the frame (1 byte), the payload. The client begins a call with a number that it has not in use,
// and may have several under way.
//
//	client  C  begins a call; the payload is its name, ompd.v1.Service/Method
//	        M  a message, as protobuf's JSON with the field names of the .proto
//	           files
//	        B  a message, in protobuf's binary form
//	        E  there are no more messages
//	        X  the call is given up
//	        V  runs a verb of the command line; the payload is a JSON list of its
//	           words
//	server  M  a message
//	        O  a piece of what the verb writes to its standard output
//	        D  a piece of what it writes to its standard error
//	        S  the end of the call, and how it ended: a JSON object with code (of
//	           gRPC, such as NOT_FOUND), message, reason and metadata (of the
//	           google.rpc.ErrorInfo), and exit, the exit status of a verb
//	        H  the first frame of all, with number 0: a JSON object with protocol
//	           and version
package piped

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// Protocol is the version of the frames.
const Protocol = 1

// Kinds of frames.
const (
	kindCall    = 'C'
	kindMessage = 'M'
	kindBinary  = 'B'
	kindEnd     = 'E'
	kindCancel  = 'X'
	kindVerb    = 'V'
	kindOutput  = 'O'
	kindErrors  = 'D'
	kindStatus  = 'S'
	kindHello   = 'H'
)

// Sizes and limits.
const (
	// headerSize is the size of a frame without its payload.
	headerSize = 9
	// MaxPayload bounds the payload of a frame: the largest message, 4 MiB, in base64 with additional fields.
	MaxPayload = 16 << 20
	// maxDecoded bounds the memory of a verb's words, in bytes, and maxValues the values of a message in JSON.
	maxDecoded = 32 << 20
	maxValues  = 1 << 18
	// maxCalls bounds the calls in progress; debuggers have three at most.
	maxCalls = 64
	// maxWaiting bounds the messages of one call that are not taken yet.
	maxWaiting = 64
)

// Verb runs a verb of the command line and returns its exit status. It ends when ctx is canceled.
type Verb func(ctx context.Context, args []string, stdout, stderr io.Writer) (exit int)

// Config contains the connections of a pipe.
type Config struct {
	Conn    grpc.ClientConnInterface // destination of calls
	Verb    Verb                     // nil refuses verbs
	Version string                   // of the program, for the client
}

// frame is one frame.
type frame struct {
	id      uint32
	kind    byte
	payload []byte
}

// carrier is one pipe.
type carrier struct {
	cfg Config
	ctx context.Context

	write sync.Mutex
	w     io.Writer

	mu    sync.Mutex
	calls map[uint32]*call
}

// call is a call or verb in progress.
type call struct {
	cancel context.CancelFunc
	in     chan frame // the client's messages; closed after the last one
}

// Serve serves a pipe until r ends, which is not an error. Calls in progress are then canceled; they may end
// after Serve returns.
func Serve(ctx context.Context, r io.Reader, w io.Writer, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &carrier{cfg: cfg, ctx: ctx, w: w, calls: map[uint32]*call{}}
	defer cancel()
	if err := c.sendJSON(0, kindHello, map[string]any{"protocol": Protocol, "version": cfg.Version}); err != nil {
		return err
	}
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		f, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = c.take(f)
		}
		if err != nil {
			return err
		}
	}
}

// readFrame reads one frame.
func readFrame(r io.Reader) (frame, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxPayload {
		return frame{}, fmt.Errorf("a frame of %d bytes, more than %d: the pipe does not carry frames", size,
			MaxPayload)
	}
	f := frame{binary.BigEndian.Uint32(head[4:]), head[8], make([]byte, size)}
	if _, err := io.ReadFull(r, f.payload); err != nil {
		return frame{}, fmt.Errorf("a truncated frame: %w", err)
	}
	return f, nil
}

// send writes one frame.
func (c *carrier) send(id uint32, kind byte, payload []byte) error {
	b := make([]byte, headerSize, headerSize+len(payload))
	binary.BigEndian.PutUint32(b, uint32(len(payload)))
	binary.BigEndian.PutUint32(b[4:], id)
	b[8] = kind
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.w.Write(append(b, payload...))
	return err
}

func (c *carrier) sendJSON(id uint32, kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.send(id, kind, b)
}

// take handles a frame of the client.
func (c *carrier) take(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.calls[f.id]
	switch {
	case f.kind == kindCall || f.kind == kindVerb:
		if at != nil || f.id == 0 || len(c.calls) >= maxCalls {
			return fmt.Errorf("call %d cannot start: its number is in use, or %d calls are in progress", f.id, maxCalls)
		}
		c.begin(f)
	case at == nil: // it has already ended, which the client may not know yet
	case f.kind == kindCancel:
		at.cancel()
	case f.kind == kindEnd && at.in != nil:
		close(at.in)
		at.in = nil
	case (f.kind == kindMessage || f.kind == kindBinary) && at.in != nil:
		select {
		case at.in <- f:
		default:
			return fmt.Errorf("call %d: %d messages are waiting for it", f.id, maxWaiting)
		}
	default:
		return fmt.Errorf("call %d: an unexpected frame of kind %q", f.id, f.kind)
	}
	return nil
}

// begin starts a call or a verb. The caller holds the lock.
func (c *carrier) begin(f frame) {
	ctx, cancel := context.WithCancel(c.ctx)
	in := make(chan frame, maxWaiting)
	c.calls[f.id] = &call{cancel, in}
	run := func() status { return c.callMethod(ctx, cancel, f.id, string(f.payload), in) }
	if f.kind == kindVerb {
		run = func() status { return c.runVerb(ctx, f) }
	}
	go func() {
		st := run()
		cancel()
		c.mu.Lock()
		delete(c.calls, f.id)
		c.mu.Unlock()
		_ = c.sendJSON(f.id, kindStatus, st) // the client may be gone
	}()
}

// runVerb runs a verb.
func (c *carrier) runVerb(ctx context.Context, f frame) status {
	var args []string
	if err := jsonx.Unmarshal(f.payload, &args, budget.NewLedger(maxDecoded), "the words"); err != nil {
		return statusOf(fmt.Errorf("words of the verb: %w", err))
	}
	if c.cfg.Verb == nil {
		return statusOf(errors.New("verbs are not served here"))
	}
	st := statusOf(nil)
	exit := c.cfg.Verb(ctx, args, output{c, f.id, kindOutput}, output{c, f.id, kindErrors})
	st.Exit = &exit
	return st
}

// output sends the bytes that are written to it.
type output struct {
	c    *carrier
	id   uint32
	kind byte
}

// Write sends p in frames.
func (o output) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += MaxPayload {
		if err := o.c.send(o.id, o.kind, p[n:min(n+MaxPayload, len(p))]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}
