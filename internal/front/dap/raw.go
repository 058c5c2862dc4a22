package dap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	godap "github.com/google/go-dap"
)

// maxLooked bounds the messages that a proxy parses, in bytes. Longer ones, such as large parts of memory, are
// copied without being kept.
const maxLooked = 16 << 20

// raw is a received message.
type raw struct {
	head    []byte // the lines before the content, with the empty one
	content []byte // nil if the message is too long to be parsed
	size    int64
}

// rawReader reads messages without changing them.
type rawReader struct {
	who string // name of the sender, for errors
	in  *bufio.Reader
}

func newRawReader(who string, in io.Reader) *rawReader {
	return &rawReader{who, bufio.NewReaderSize(in, 64<<10)}
}

// read reads a message. It returns io.EOF if there is no more. The content of a message that is too long is not
// read yet.
func (r *rawReader) read() (*raw, error) {
	m := &raw{size: -1}
	for range maxHeaders {
		line, err := r.in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && len(m.head) == 0:
			return nil, io.EOF
		case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxHeader:
			const what = "%s: %w: a line of more than %d bytes before a message"
			return nil, fmt.Errorf(what, r.who, errFraming, maxHeader)
		case err != nil:
			m.head = append(m.head, line...)
			return nil, fmt.Errorf("%s ended before a message, after %q: %w", r.who, m.head, noEOF(err))
		}
		m.head = append(m.head, line...)
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			return m, r.fill(m)
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%s: %w: %q before a message", r.who, errFraming, text)
		}
		if strings.EqualFold(name, "Content-Length") {
			if m.size, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || m.size < 0 {
				return nil, fmt.Errorf("%s: %w: Content-Length %q", r.who, errFraming, value)
			}
		}
	}
	return nil, fmt.Errorf("%s: %w: more than %d lines before a message", r.who, errFraming, maxHeaders)
}

// fill reads the content of a message that is not too long.
func (r *rawReader) fill(m *raw) error {
	if m.size < 0 {
		return fmt.Errorf("%s: %w: a message without Content-Length", r.who, errFraming)
	}
	if m.size > maxLooked {
		return nil
	}
	m.content = make([]byte, m.size)
	if n, err := io.ReadFull(r.in, m.content); err != nil {
		return fmt.Errorf("%s ended within a message, after %d of %d bytes: %w", r.who, n, m.size, noEOF(err))
	}
	return nil
}

// ownIDs is the first number of a proxy's own messages and additions.
const ownIDs = 1 << 30

// outlet is the destination of messages. Any goroutine may write.
type outlet struct {
	mu   sync.Mutex
	w    io.Writer
	seq  int // number of the last message of the proxy's own
	fail error
}

// pass writes a received message. Its unread part is copied from r.
func (o *outlet) pass(m *raw, r *rawReader) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.content != nil {
		o.write(m.head, m.content)
		return nil
	}
	o.write(m.head)
	to := o.w
	if o.fail != nil {
		to = io.Discard
	}
	n, err := io.CopyN(to, r.in, m.size)
	if err != nil {
		o.fail = err
		return fmt.Errorf("%s ended within a message, after %d of %d bytes: %w", r.who, n, m.size, noEOF(err))
	}
	return nil
}

// put writes a message with a changed content.
func (o *outlet) put(content []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content)
}

// write writes without a buffer. It fails after the first error.
func (o *outlet) write(parts ...[]byte) {
	if o.fail == nil {
		_, o.fail = o.w.Write(bytes.Join(parts, nil))
	}
}

// send numbers a message of the proxy's own and writes it.
func (o *outlet) send(m godap.Message, number *godap.ProtocolMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	number.Seq = ownIDs + o.seq
	content := encode(m)
	o.write(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content)
}

// sendEvent sends an event.
func (o *outlet) sendEvent(name string, body any) {
	m := &event{Body: body}
	m.Type, m.Event.Event = "event", name
	o.send(m, &m.ProtocolMessage)
}

// print sends a text to the user.
func (o *outlet) print(category, text string) {
	o.sendEvent("output", godap.OutputEventBody{Category: category, Output: text + "\n"})
}

// respond answers a request: with body, or with err.
func (o *outlet) respond(seq int, command string, body any, err error) {
	m := &response{Body: body}
	m.Type, m.RequestSeq, m.Command, m.Success = "response", seq, command, err == nil
	if err != nil {
		m.Message = err.Error()
		m.Body = errorBody(command, err)
	}
	o.send(m, &m.ProtocolMessage)
}
