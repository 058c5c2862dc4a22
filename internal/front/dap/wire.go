package dap

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	godap "github.com/google/go-dap"
)

// Limits of a client's messages. The largest messages of editors name some hundred breakpoints, in a few
// kilobytes.
const (
	maxMessage = 1 << 20
	maxHeader  = 1 << 10 // bytes of a header line
	maxHeaders = 16      // header lines before a message
)

// errFraming is the error of input that is not a sequence of messages: the rest of it cannot be parsed either.
var errFraming = errors.New("this is not the Debug Adapter Protocol")

// wire is the connection to a client. One goroutine reads; any may write.
type wire struct {
	in *bufio.Reader

	mu  sync.Mutex
	out io.Writer
	seq int
	err error // of the first failed write
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: bufio.NewReaderSize(in, maxHeader), out: out}
}

// read reads the content of one message. It returns io.EOF if the client has closed its end.
func (w *wire) read() ([]byte, error) {
	size, err := w.header()
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(w.in, content); err != nil {
		return nil, fmt.Errorf("the client closed its end within a message of %d bytes: %w", size, noEOF(err))
	}
	return content, nil
}

// noEOF turns an early end of the input into an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads the header of a message and returns the length of the content.
func (w *wire) header() (int, error) {
	size := -1
	for n := range maxHeaders {
		line, err := w.in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && n == 0 && len(line) == 0:
			return 0, io.EOF
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("%w: a line of more than %d bytes before a message", errFraming, maxHeader)
		case err != nil:
			return 0, fmt.Errorf("the client closed its end before a message: %w", noEOF(err))
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			if size < 0 {
				return 0, fmt.Errorf("%w: a message without Content-Length", errFraming)
			}
			return size, nil
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return 0, fmt.Errorf("%w: %q before a message", errFraming, text)
		}
		if !strings.EqualFold(name, "Content-Length") {
			continue
		}
		length, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
		if err != nil {
			return 0, fmt.Errorf("%w: Content-Length %q", errFraming, value)
		}
		if length > maxMessage {
			return 0, fmt.Errorf("a message of %d bytes: %d is the limit of this adapter", length, maxMessage)
		}
		size = int(length)
	}
	return 0, fmt.Errorf("%w: more than %d lines before a message", errFraming, maxHeaders)
}

// send numbers a message and writes it. It fails after the first error.
func (w *wire) send(m godap.Message, number *godap.ProtocolMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.seq++
	number.Seq = w.seq
	content, err := json.Marshal(m)
	if err != nil {
		w.err = err
		return
	}
	w.err = godap.WriteBaseMessage(w.out, content)
}

// writeError returns the error of a failed write, or nil.
func (w *wire) writeError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// response is the answer to a request.
type response struct {
	godap.Response
	Body any `json:"body,omitempty"`
}

// respond answers a request: with body, or with err.
func (w *wire) respond(r *request, body any, err error) {
	m := &response{Body: body}
	m.Type, m.RequestSeq, m.Command, m.Success = "response", r.Seq, r.Command, err == nil
	if err != nil {
		m.Message = err.Error()
		m.Body = errorBody(r.Command, err)
	}
	w.send(m, &m.ProtocolMessage)
}

// errorBody returns an error as the body of the answer to a command. Editors show the error of an expression in its
// place, so it needs no window of its own.
func errorBody(command string, err error) godap.ErrorResponseBody {
	return godap.ErrorResponseBody{Error: &godap.ErrorMessage{
		Id: errorID, Format: "{reason}", Variables: map[string]string{"reason": err.Error()},
		ShowUser: command != "evaluate",
	}}
}

// errorID is the number of all errors: they differ by their text.
const errorID = 1

// event is a message without a request.
type event struct {
	godap.Event
	Body any `json:"body,omitempty"`
}

// sendEvent sends an event.
func (w *wire) sendEvent(name string, body any) {
	m := &event{Body: body}
	m.Type, m.Event.Event = "event", name
	w.send(m, &m.ProtocolMessage)
}
