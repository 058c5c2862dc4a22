package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
)

// recorded is an adapter of which both sides' words are kept, between the proxy and the adapter.
type recorded struct {
	line    []string // starts it
	in, out string   // files of what it was told and of what it said
	done    func()   // waits until they are complete; nil if they are when the proxy has ended
}

// record puts tee before and behind an adapter.
func record(t testing.TB, line []string) recorded {
	t.Helper()
	dir := t.TempDir()
	r := recorded{in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out")}
	name := filepath.Base(line[0])
	script := filepath.Join(dir, name)
	text := "#!/bin/sh\ntee " + r.in + " | " + line[0] + ` "$@" | tee ` + r.out + "\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	r.line = append([]string{script}, line[1:]...)
	return r
}

// recordSocket stands before a Delve that listens, and keeps what is said by a client of the protocol; others, which
// speak Delve's own, pass.
func recordSocket(t testing.TB, socket string) recorded {
	t.Helper()
	dir := t.TempDir()
	r := recorded{in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out")}
	l, err := net.Listen("unix", filepath.Join(dir, "delve"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r.line = []string{"--connect", l.Addr().String()}
	var kept sync.WaitGroup
	r.done = kept.Wait
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			kept.Go(func() { r.pass(client, socket) })
		}
	}()
	return r
}

// pass passes what is said on one connection.
func (r recorded) pass(client net.Conn, socket string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	words := bufio.NewReader(client)
	first, _ := words.Peek(1)
	in, out := io.Discard, io.Discard
	if string(first) == "C" { // Content-Length
		told, err1 := os.Create(r.in)
		said, err2 := os.Create(r.out)
		if errors.Join(err1, err2) != nil {
			return
		}
		defer told.Close()
		defer said.Close()
		in, out = told, said
	}
	go func() {
		_, _ = io.Copy(io.MultiWriter(server, in), words)
		server.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(client, out), server)
}

// alone starts an adapter without the proxy, and is a client of it.
func alone(t testing.TB, line []string) *daptest.Client {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	return daptest.NewProxied(t, out, in, ownIDs)
}

// messages are those of a record.
func messages(t *testing.T, file string) (all []daptest.Message) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewReader(bytes.NewReader(text)); ; {
		content, err := godap.ReadBaseMessage(in)
		if errors.Is(err, io.EOF) {
			return all
		}
		m := daptest.Message{Raw: content}
		if err := errors.Join(err, json.Unmarshal(content, &m)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, m)
	}
}

// check holds what the client said and got against what the adapter was told and said: without the proxy's own
// messages and what it has added, they are the same, byte for byte, but for frames of runtimes that are left out, and
// the parts of stacks that the adapter is asked for.
func (r recorded) check(t *testing.T, c *daptest.Client) {
	t.Helper()
	if r.done != nil {
		r.done()
	}
	answered := map[int]bool{} // by the proxy
	got := map[int]daptest.Message{}
	var events []daptest.Message
	for _, m := range c.All() {
		switch {
		case m.Seq > ownIDs:
			answered[m.RequestSeq] = m.Type == "response"
		case m.Type == "response":
			got[m.RequestSeq] = m
		default:
			events = append(events, m)
		}
	}
	changed, gone := 0, false
	for _, m := range messages(t, r.out) {
		shown, ok := got[m.RequestSeq]
		if gone && m.Type == "event" && len(events) == 0 {
			continue // the client did not wait for it
		}
		gone = gone || m.Type == "response" && m.Command == "disconnect"
		switch {
		case m.Type == "response" && m.RequestSeq > ownIDs:
			continue
		case m.Type == "response":
		case len(events) > 0:
			shown, events, ok = events[0], events[1:], true
		}
		if !ok || !unchanged(m.Raw, daptest.Undone(shown.Raw, ownIDs), m.Command) {
			t.Errorf("the adapter says\n%s\nthe client gets\n%s", m.Raw, shown.Raw)
		}
		if !bytes.Equal(m.Raw, shown.Raw) {
			changed++
		}
	}
	if changed == 0 {
		t.Error("nothing was added")
	}
	if len(events) > 0 {
		t.Errorf("the client gets what the adapter does not say: %+v", events)
	}
	told := messages(t, r.in)
	for i, raw := range c.Sent() {
		if answered[i+1] {
			continue
		}
		for len(told) > 0 && told[0].Seq > ownIDs {
			told = told[1:]
		}
		if len(told) == 0 || !bytes.Equal(told[0].Raw, raw) && !strings.Contains(string(raw), `"startFrame"`) {
			t.Errorf("the client says\n%s\nthe adapter gets\n%+v", raw, told)
			return
		}
		told = told[1:]
	}
}

// unchanged reports whether a message is the adapter's, of which frames may be left out.
func unchanged(sent, undone []byte, command string) bool {
	if command != "stackTrace" {
		return bytes.Equal(sent, undone)
	}
	theirs, framesSent := withoutFrames(sent)
	ours, framesLeft := withoutFrames(undone)
	for _, f := range framesSent {
		if len(framesLeft) > 0 && bytes.Equal(f, framesLeft[0]) {
			framesLeft = framesLeft[1:]
		}
	}
	return theirs == ours && len(framesLeft) == 0
}

// withoutFrames is a stack's message without its frames, and these.
func withoutFrames(text []byte) (rest string, frames []json.RawMessage) {
	var m struct {
		Body struct{ StackFrames json.RawMessage }
	}
	if json.Unmarshal(text, &m) != nil || json.Unmarshal(m.Body.StackFrames, &frames) != nil {
		return string(text), nil
	}
	return strings.Replace(string(text), string(m.Body.StackFrames), "[]", 1), frames
}

// number is a message's own.
var number = regexp.MustCompile(`"seq":\s*\d+`)

// unnumbered is a message without its own number, which counts those that the proxy asks for, too.
func unnumbered(text []byte) string { return number.ReplaceAllString(string(text), `"seq":`) }
