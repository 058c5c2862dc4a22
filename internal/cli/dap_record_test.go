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

// recorded is an adapter with recorded messages to and from the proxy.
type recorded struct {
	line    []string // starts it
	in, out string   // files with the messages to the adapter and from it
	done    func()   // waits until the files are complete; nil if they are complete when the proxy has ended
}

// record puts tee before and after an adapter.
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

// recordSocket relays to a Delve that listens, and records the messages of clients that use the debug adapter
// protocol. Clients of Delve's own protocol pass unrecorded.
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

// pass passes the messages of one connection.
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

// startAlone starts an adapter without the proxy, and returns a client of it.
func startAlone(t testing.TB, line []string) *daptest.Client {
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

// readMessages returns the messages in a file.
func readMessages(t *testing.T, file string) (all []daptest.Message) {
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

// check compares the client's messages with those of the adapter. Without the proxy's own messages and
// additions they are equal byte for byte, except for frames of runtimes that are left out, and the parts of
// stacks that the proxy requests.
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
	for _, m := range readMessages(t, r.out) {
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
		if !ok || !isUnchanged(m.Raw, daptest.Undone(shown.Raw, ownIDs), m.Command) {
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
		t.Errorf("the client gets messages that the adapter did not send: %+v", events)
	}
	told := readMessages(t, r.in)
	for i, raw := range c.Sent() {
		if answered[i+1] {
			continue
		}
		for len(told) > 0 && told[0].Seq > ownIDs {
			told = told[1:]
		}
		if len(told) == 0 || !bytes.Equal(told[0].Raw, raw) && !strings.Contains(string(raw), `"startFrame"`) {
			t.Errorf("the client sends\n%s\nthe adapter gets\n%+v", raw, told)
			return
		}
		told = told[1:]
	}
}

// isUnchanged reports whether a message is the adapter's; frames may be left out.
func isUnchanged(sent, undone []byte, command string) bool {
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

// withoutFrames splits the frames from a message with a stack.
func withoutFrames(text []byte) (rest string, frames []json.RawMessage) {
	var m struct {
		Body struct{ StackFrames json.RawMessage }
	}
	if json.Unmarshal(text, &m) != nil || json.Unmarshal(m.Body.StackFrames, &frames) != nil {
		return string(text), nil
	}
	return strings.Replace(string(text), string(m.Body.StackFrames), "[]", 1), frames
}

// number matches a message's sequence number.
var number = regexp.MustCompile(`"seq":\s*\d+`)

// withoutNumber removes a message's sequence number, because the proxy's own requests are counted, too.
func withoutNumber(text []byte) string { return number.ReplaceAllString(string(text), `"seq":`) }
