package dap_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
)

// FuzzProxy plays a debug adapter that gives valid answers about a stopped program, and then sends any bytes.
// The proxy passes valid messages, adds what it can, does not panic, and ends with the adapter.
func FuzzProxy(f *testing.F) {
	sound := goldenConfig(f)
	asks := frameRequest("initialize", `{"adapterID":"x","supportsInvalidatedEvent":true}`)
	const last = "setExceptionBreakpoints"
	// Numbers of one digit keep the length constant.
	for i, command := range []string{"threads", "stackTrace", "scopes", "setFunctionBreakpoints", last} {
		const arguments = `{"threadId":1,"frameId":1,"breakpoints":[{"name":"omp parallel"}],"filters":["omp"]}`
		asks += strings.Replace(frameRequest(command, arguments), `"seq":7`, fmt.Sprintf(`"seq":%d`, 1+i), 1)
	}
	const stopped = `{"type":"event","event":"stopped","body":{"reason":"pause","threadId":1}}`
	for _, text := range []string{
		response(7, `{"supportsFunctionBreakpoints":true}`), response(1, `{"threads":[{"id":1,"name":"t"}]}`),
		response(2, `{"stackFrames":[{"id":1,"name":"f","line":1}]}`), response(3, `{"scopes":[]}`),
		response(5, `{"breakpoints":[{"id":1,"verified":false}]}`),
		`{"type":"event","event":"process","body":{"systemProcessId":99999999999999999999}}`,
		`{"type":"event","event":"continued","body":null}`, `{"body":{"body":{"body":[`, "", "[[[[",
	} {
		f.Add(frame(stopped) + frame(text) + frame(text))
	}
	f.Fuzz(func(t *testing.T, said string) {
		var panicked atomic.Value
		c := dap.ProxyConfig{Config: sound, Attach: dap.Attach{Target: "core"}}
		c.Log = func(text string) { panicked.Store(text) }
		asked := make(chan struct{})
		user, client := io.Pipe()
		go func() { _, _ = io.WriteString(client, asks) }()
		link := dap.Link{
			Reader: &after{asked, strings.NewReader(said)},
			Writer: &upTo{last, sync.OnceFunc(func() { close(asked) })},
			Close:  func() error { return nil },
		}
		_ = dap.Proxy(t.Context(), user, io.Discard, link, c)
		client.Close()
		if text := panicked.Load(); text != nil {
			t.Errorf("%q: %s", said, text)
		}
	})
}

// response returns an adapter's response to a request.
func response(seq int, body string) string {
	return fmt.Sprintf(`{"type":"response","request_seq":%d,"success":true,"body":%s}`, seq, body)
}

// after is a reader that waits before it reads.
type after struct {
	asked <-chan struct{}
	io.Reader
}

// Read implements io.Reader.
func (a *after) Read(p []byte) (int, error) {
	<-a.asked
	return a.Reader.Read(p)
}

// upTo is a writer that calls f after a text was written.
type upTo struct {
	text string
	f    func()
}

// Write implements io.Writer.
func (u *upTo) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(u.text)) {
		u.f()
	}
	return len(p), nil
}
