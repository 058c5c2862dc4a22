package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
)

// devtools controls one page of a browser by its DevTools protocol, over a pair of pipes.
type devtools struct {
	t       *testing.T
	in      *bufio.Reader
	out     io.Writer
	session string
	last    int
}

// reply is a message of the browser: an answer or an event.
type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// inspected opens a page in a headless browser with a DevTools connection.
func inspected(t *testing.T, page string) *devtools {
	t.Helper()
	browser := browserFor(t)
	theirIn, ourOut, err1 := os.Pipe()
	ourIn, theirOut, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	// Without the test's context, which ends before the cleanup: a killed browser leaves processes that write files.
	cmd := exec.Command(browser, append(browserFlags(t), "--remote-debugging-pipe")...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	d := &devtools{t: t, in: bufio.NewReader(ourIn), out: ourOut}
	t.Cleanup(func() {
		d.send("Browser.close", nil)
		ourOut.Close()
		_ = cmd.Wait()
		ourIn.Close()
	})
	var target struct{ TargetID, SessionID string }
	d.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	d.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	d.session = target.SessionID
	d.call("Page.enable", nil, nil)
	d.send("Page.navigate", map[string]any{"url": "file://" + page})
	d.until(func(r reply) bool { return r.Method == "Page.loadEventFired" })
	return d
}

// send sends a request.
func (d *devtools) send(method string, params map[string]any) {
	d.t.Helper()
	d.last++
	m := map[string]any{"id": d.last, "method": method, "params": params}
	if params == nil {
		delete(m, "params")
	}
	if d.session != "" && method != "Browser.close" {
		m["sessionId"] = d.session
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = d.out.Write(append(text, 0))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// until reads messages until one is wanted.
func (d *devtools) until(wanted func(reply) bool) reply {
	d.t.Helper()
	for {
		text, err := d.in.ReadBytes(0)
		var r reply
		if err == nil {
			err = json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &r)
		}
		if err != nil {
			d.t.Fatalf("the browser's answer: %v", err)
		}
		if wanted(r) {
			return r
		}
	}
}

// call sends a request and decodes its answer.
func (d *devtools) call(method string, params map[string]any, result any) {
	d.t.Helper()
	d.send(method, params)
	r := d.until(func(r reply) bool { return r.ID == d.last })
	if r.Error != nil {
		d.t.Fatalf("%s: %s", method, r.Error)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			d.t.Fatal(err)
		}
	}
}

// eval evaluates an expression with a text as its value in the page.
func (d *devtools) eval(expression string) string {
	d.t.Helper()
	var v struct {
		Result           struct{ Value string }
		ExceptionDetails json.RawMessage
	}
	d.call("Runtime.evaluate", map[string]any{"expression": expression}, &v)
	if v.ExceptionDetails != nil {
		d.t.Fatalf("%s: %s", expression, v.ExceptionDetails)
	}
	return v.Result.Value
}

// tab presses the key that moves the focus to the next element.
func (d *devtools) tab() {
	d.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		const code = 9
		d.call("Input.dispatchKeyEvent", map[string]any{
			"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": code,
		}, nil)
	}
}

// accessible is an element as a screen reader sees it.
type accessible struct {
	Ignored     bool
	Role        struct{ Value string }
	Name        struct{ Value string }
	Description struct{ Value string }
	Properties  []struct {
		Name  string
		Value struct{ Value any }
	}
}

// property returns a property of an element by name, or nil.
func (a accessible) property(name string) any {
	for _, p := range a.Properties {
		if p.Name == name {
			return p.Value.Value
		}
	}
	return nil
}

// accessibility returns the page as a screen reader sees it, in reading order.
func (d *devtools) accessibility() (out []accessible) {
	d.t.Helper()
	var tree struct{ Nodes []accessible }
	d.call("Accessibility.getFullAXTree", nil, &tree)
	for _, n := range tree.Nodes {
		if !n.Ignored {
			out = append(out, n)
		}
	}
	return out
}
