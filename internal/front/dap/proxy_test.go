package dap_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ownIDs is the first number that a proxy adds.
const ownIDs = 1 << 30

// ends contains both ends of a proxy, the client's and the adapter's, as streams of bytes.
type ends struct {
	t       *testing.T
	client  io.WriteCloser
	toUser  *bufio.Reader
	adapter io.WriteCloser
	fromUs  *bufio.Reader
	ended   chan error
	whole   bool // no frame is left out
}

// startProxy starts a proxy. The test is its client and its adapter.
func startProxy(t *testing.T, c dap.ProxyConfig) *ends {
	t.Helper()
	in, client := io.Pipe()
	toUser, out := io.Pipe()
	fromAdapter, adapter := io.Pipe()
	fromUs, toAdapter := io.Pipe()
	if own := c.Config; own.Open == nil {
		c.Config = config()
	}
	e := &ends{
		t: t, client: client, toUser: bufio.NewReader(toUser), adapter: adapter, fromUs: bufio.NewReader(fromUs),
		ended: make(chan error, 1),
	}
	go func() {
		link := dap.Link{Reader: fromAdapter, Writer: toAdapter, Close: sync.OnceValue(toAdapter.Close)}
		link.Ended = func() string { return "status 9" }
		err := dap.Proxy(t.Context(), in, out, link, c)
		out.Close()
		toAdapter.Close()
		in.Close()
		fromAdapter.Close()
		e.ended <- err
	}()
	t.Cleanup(func() {
		client.Close()
		adapter.Close()
	})
	return e
}

// frame returns the bytes of a message.
func frame(content string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}

// expect reads bytes, which must be want.
func (e *ends) expect(from *bufio.Reader, want string) {
	e.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
		e.t.Fatalf("%v: came %.300q, want %.300q", err, got, want)
	}
}

// send writes bytes to one of the ends while the other is read.
func (e *ends) send(to io.Writer, text string) {
	go func() { _, _ = io.WriteString(to, text) }()
}

// next reads the next message.
func (e *ends) next(from *bufio.Reader) (text []byte, m message) {
	e.t.Helper()
	text, err := godap.ReadBaseMessage(from)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return text, m
}

// message contains the members that the tests read.
type message struct {
	Seq        int
	Type       string
	Event      string
	Command    string
	Message    string
	Success    bool
	RequestSeq int `json:"request_seq"`
	Arguments  json.RawMessage
	Body       json.RawMessage
}

// TestProxyPasses checks that messages that have nothing to do with OpenMP pass byte for byte in both
// directions, with unknown headers, spaces and fields.
func TestProxyPasses(t *testing.T) {
	e := startProxy(t, dap.ProxyConfig{})
	for _, content := range []string{
		`{"seq":0,"type":"event","event":"output","body":{"output":"\u00e9 é","x":[1.0,1e3,0x]}}`, // not JSON
		`{ "seq" : 0 , "type":"event", "event":"__lldb", "body": {"$__lldb_extensions": {"a": 1.50}} }`,
		"{\n\t\"type\": \"response\",\n\t\"request_seq\": 77, \"command\": \"x\", \"success\": true }",
		`{"seq":5,"type":"request","command":"runInTerminal","arguments":{"args":[]}}`,
		`[]`, `"x"`, ``, `{`, `{"type":"event","event":"stopped","body":{"reason":"pause"}}`,
		`{"type":"response","request_seq":1,"command":"threads","success":true,"body":{"threads":[{"id":1}]}}`,
	} {
		text := frame(content)
		e.send(e.adapter, text)
		e.expect(e.toUser, text)
		odd := strings.Replace(text, "Content-Length: ", "X-Other: y\r\ncontent-length:", 1)
		e.send(e.client, odd)
		e.expect(e.fromUs, odd)
	}
	long := frame(`{"seq":9,"type":"event","event":"memory","body":"` + strings.Repeat("x", 20<<20) + `"}`)
	e.send(e.adapter, long)
	e.expect(e.toUser, long)
	e.client.Close()
	if left, err := io.ReadAll(e.fromUs); err != nil || len(left) > 0 {
		t.Errorf("the adapter gets %q, %v when the client has gone", left, err)
	}
	e.adapter.Close()
	if err := <-e.ended; err != nil {
		t.Errorf("the session ends with %v", err)
	}
}

// TestProxyEnds ends adapters in all ways: the client gets the reason, its requests are answered, and nothing
// hangs.
func TestProxyEnds(t *testing.T) {
	for name, bad := range map[string]struct{ bytes, text string }{
		"dead":           {"", "the debug adapter has ended: status 9"},
		"no protocol":    {"Segmentation fault\n", "this is not the Debug Adapter Protocol"},
		"half a message": {"Content-Length: 100\r\n\r\n{", "after 1 of 100 bytes"},
		"half a header":  {"Content-Len", "ended before a message"},
		"long half":      {"Content-Length: 104857600\r\n\r\n{", "after 1 of 104857600 bytes"},
		"no length":      {"A: b\r\n\r\n", "without Content-Length"},
		"negative":       {"Content-Length: -1\r\n\r\n", `Content-Length " -1"`},
		"endless line":   {strings.Repeat("x", 1<<12) + "\n", "a line of more than"},
	} {
		t.Run(name, func(t *testing.T) {
			e := startProxy(t, dap.ProxyConfig{})
			ask := frame(`{"seq":3,"type":"request","command":"threads"}`)
			e.send(e.client, ask)
			e.expect(e.fromUs, ask)
			go func() {
				_, _ = io.WriteString(e.adapter, bad.bytes)
				e.adapter.Close()
			}()
			if strings.HasPrefix(name, "long") { // no message can be sent within another one
				e.expect(e.toUser, bad.bytes)
				if err := <-e.ended; err == nil || !strings.Contains(err.Error(), bad.text) {
					t.Errorf("the session ends with %v, want %q", err, bad.text)
				}
				return
			}
			_, answer := e.next(e.toUser)
			if answer.RequestSeq != 3 || answer.Success || !strings.Contains(answer.Message, "has ended") {
				t.Errorf("the request is answered by %+v", answer)
			}
			_, told := e.next(e.toUser)
			if told.Event != "output" || !strings.Contains(string(told.Body), strings.ReplaceAll(bad.text, `"`, `\"`)) {
				t.Errorf("the client is told %s, want %q", told.Body, bad.text)
			}
			if _, end := e.next(e.toUser); end.Event != "terminated" {
				t.Errorf("then comes %+v", end)
			}
			if err := <-e.ended; err == nil || !strings.Contains(err.Error(), bad.text) {
				t.Errorf("the session ends with %v, want %q", err, bad.text)
			}
		})
	}
}

// TestProxyKnows checks that the proxy itself answers requests without an announced capability of the adapter.
func TestProxyKnows(t *testing.T) {
	e := startProxy(t, dap.ProxyConfig{})
	e.greet(`{"supportsModulesRequest":true}`)
	for _, command := range []string{"readMemory", "exceptionInfo", "ompd/regions", "setInstructionBreakpoints"} {
		e.send(e.client, frame(`{"seq":4,"type":"request","command":"`+command+`"}`))
		if _, m := e.next(e.toUser); m.Success || m.Message == "" || m.RequestSeq != 4 || m.Seq < ownIDs {
			t.Errorf("%s: %+v", command, m)
		}
	}
	known := frame(`{"seq":5,"type":"request","command":"modules"}`)
	e.send(e.client, known)
	e.expect(e.fromUs, known)
}

// greet initializes the session, and returns the capabilities that the client gets.
func (e *ends) greet(abilities string) (body json.RawMessage) {
	e.t.Helper()
	hello := frame(`{"seq":1,"type":"request","command":"initialize","arguments":{"supportsInvalidatedEvent":true}}`)
	e.send(e.client, hello)
	e.expect(e.fromUs, hello)
	e.send(e.adapter, frame(
		`{"seq":1,"type":"response","request_seq":1,"command":"initialize","success":true,"body":`+abilities+`}`))
	_, m := e.next(e.toUser)
	return m.Body
}

// goldenPicture returns a picture of a golden core, for adapters that pretend to have opened it.
func goldenPicture(t *testing.T, name string) (args, *picture.Picture) {
	t.Helper()
	core := golden(t, name)
	o := engine.Options{Exe: core["exe"].(string), Sysroot: core["sysroot"].(string)}
	target, err := engine.Open(context.Background(), core["target"].(string), o)
	if err != nil {
		t.Fatal(err)
	}
	q := engine.Report()
	q.Native = true
	answer, err := target.Look(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	return core, answer.Picture
}

// TestProxyAdds plays an adapter with a core, and removes the proxy's additions from its threads, stacks and
// scopes. The rest must be the adapter's own bytes, except for frames of runtimes if these are hidden.
func TestProxyAdds(t *testing.T) {
	core, pic := goldenPicture(t, "llvm-deadlock")
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("runtime frames %t", whole), func(t *testing.T) { checkAdds(t, core, pic, whole) })
	}
}

// attachCore attaches to a core: the adapter gets the request, and the client the stop.
func (e *ends) attachCore(target any) {
	e.t.Helper()
	attach := frame(fmt.Sprintf(
		`{"seq":2,"type":"request","command":"attach","arguments":{"coreFile":%q}}`, target))
	e.send(e.client, attach)
	e.expect(e.fromUs, attach)
	stopped := frame(`{"seq":0,"type":"event","event":"stopped","body":{"reason":"attach","allThreadsStopped":true}}`)
	e.send(e.adapter, stopped)
	e.expect(e.toUser, stopped)
}

func checkAdds(t *testing.T, core args, pic *picture.Picture, whole bool) {
	e := startProxy(t, dap.ProxyConfig{
		Attach: dap.Attach{Exe: core["exe"].(string), Sysroot: core["sysroot"].(string), RuntimeFrames: whole},
	})
	e.whole = whole
	e.greet(`{}`)
	e.attachCore(core["target"])
	if _, m := e.next(e.toUser); m.Event != "output" || !strings.Contains(string(m.Body), "DEADLOCK") {
		t.Errorf("the verdict is told by %+v", m)
	}
	if _, m := e.next(e.toUser); m.Event != "ompd/changed" {
		t.Errorf("the look is told by %+v", m)
	}
	var list []string
	for _, th := range pic.Threads {
		list = append(list, fmt.Sprintf(`{ "odd": 1.50, "id":%d,"name" : "lock_cycle" }`, th.LWP))
	}
	got := e.ask("threads", `{}`, `{"threads":[`+strings.Join(list, " ,\n")+`]}`)
	e.removeAdditions("threads", got, "threads", list)
	for _, th := range pic.Threads {
		e.checkStack(th)
	}
}

// ask sends a request that the adapter answers with a body, and returns the body that the client gets.
func (e *ends) ask(command, arguments, body string) json.RawMessage {
	e.t.Helper()
	e.send(e.client, frame(fmt.Sprintf(`{"seq":8,"type":"request","command":%q,"arguments":%s}`, command, arguments)))
	e.next(e.fromUs)
	sent := fmt.Sprintf(
		`{ "seq":0,"type":"response","request_seq":8,"success":true,"command":%q,"body":%s}`, command, body)
	e.send(e.adapter, frame(sent))
	shown, m := e.next(e.toUser)
	back := string(daptest.Undone(shown, ownIDs))
	if back != sent && (e.whole || command != "stackTrace") {
		e.t.Errorf("%s: the adapter sends\n%s\nthe client gets\n%s\nwithout additions\n%s", command, sent, shown, back)
	}
	return m.Body
}

// removeAdditions removes the proxy's additions from a list, and compares the rest with the elements that the
// adapter sent.
func (e *ends) removeAdditions(what string, body json.RawMessage, key string, sent []string) (added int) {
	e.t.Helper()
	var got map[string]json.RawMessage
	var list []json.RawMessage
	if err := errors.Join(json.Unmarshal(body, &got), json.Unmarshal(got[key], &list)); err != nil {
		e.t.Fatalf("%s: %v in %s", what, err, body)
	}
	rest := sent
	for _, raw := range list {
		var ids struct{ ID, VariablesReference int }
		_ = json.Unmarshal(raw, &ids)
		if max(ids.ID, ids.VariablesReference) > ownIDs {
			added++
			continue
		}
		raw = daptest.Undone(raw, ownIDs)
		for len(rest) > 0 && rest[0] != string(raw) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			e.t.Errorf("%s: %s is not what the adapter sent: %q", what, raw, sent)
			return added
		}
		rest = rest[1:]
	}
	return added
}

// checkStack plays an adapter with a thread's native stack.
func (e *ends) checkStack(th picture.Thread) {
	e.t.Helper()
	var frames []string
	for i, f := range th.Stack {
		frames = append(frames, fmt.Sprintf(
			`{ "id": %d,"name":%q, "line":%d,"column":0,"x":{"y":[ ]},"instructionPointerReference":"0X%X"}`,
			th.LWP*100+i, f.Function, f.Line, uint64(*f.PC)))
	}
	body := fmt.Sprintf(`{"stackFrames":[%s] , "totalFrames": %d}`, strings.Join(frames, ","), len(frames))
	which := fmt.Sprintf(`{"threadId":%d}`, th.LWP)
	got := e.ask("stackTrace", which, body)
	added := e.removeAdditions("stackTrace", got, "stackFrames", frames)
	var shown struct{ StackFrames []godap.StackFrame }
	_ = json.Unmarshal(got, &shown)
	labels := 0
	for _, f := range shown.StackFrames {
		if f.PresentationHint == "label" {
			labels++
		}
	}
	if n := len(shown.StackFrames) - labels; !e.whole && n != len(th.UserStack) || added == 0 {
		e.t.Errorf("LWP %d: %d frames, %d added, want %d: %s", th.LWP, n, added, len(th.UserStack), got)
	}
	for _, f := range shown.StackFrames {
		if f.Id > ownIDs {
			continue
		}
		scopes := []string{`{"name":"Locals","variablesReference": 1,"expensive":false}`}
		got := e.ask("scopes", fmt.Sprintf(`{"frameId":%d}`, f.Id), `{"scopes":[`+scopes[0]+`]}`)
		if added := e.removeAdditions("scopes", got, "scopes", scopes); added < 3 {
			e.t.Errorf("frame %d has %s", f.Id, got)
		}
	}
}

// nativeFrame is a frame that a test's adapter sends.
type nativeFrame struct {
	name   string
	pc     picture.Hex
	source string
}

// TestProxyFrames plays an adapter that has symbols of the C library, so that it shows tail calls in it, and a
// compiler's wrapper of a region's body: none of them is in the stack. A library's function that the program
// called is subtle, and so is its source, so that editors show the program's line.
func TestProxyFrames(t *testing.T) {
	core, pic := goldenPicture(t, "llvm-deadlock")
	where := dap.Attach{Exe: core["exe"].(string), Sysroot: core["sysroot"].(string)}
	e := startProxy(t, dap.ProxyConfig{Attach: where})
	e.greet(`{}`)
	e.attachCore(core["target"])
	e.next(e.toUser)
	e.next(e.toUser)

	var sleeps, waits picture.Thread
	for _, th := range pic.Threads {
		switch {
		case th.Stack[0].Function == "pause":
			sleeps = th
		case th.UserStack[0].Kind == picture.FramePseudo:
			waits = th
		}
	}
	native := func(th picture.Thread) (out []nativeFrame) {
		for _, f := range th.Stack {
			one := nativeFrame{name: f.Function, pc: *f.PC}
			if f.Kind == picture.FrameSystem {
				one.source = "/build/glibc/" + f.Function + ".c"
			}
			out = append(out, one)
		}
		return out
	}
	// A tail call of the C library, between its other functions on the stacks.
	tail := nativeFrame{"__tail_call", *waits.Stack[0].PC - 8, "/build/glibc/tail.c"}
	list := native(waits)
	for _, f := range e.frames(waits.LWP, slices.Insert(list, 1, tail)) {
		if f.Id < ownIDs && f.PresentationHint != "" || strings.Contains(f.Name, "tail") ||
			strings.HasPrefix(f.Name, ".omp_outlined") {
			t.Errorf("the stack of a waiting thread has %+v", f)
		}
	}
	subtle := 0
	for _, f := range e.frames(sleeps.LWP, native(sleeps)) {
		switch {
		case f.Name == "pause" && f.PresentationHint == "subtle" && f.Source.PresentationHint == "deemphasize":
			subtle++
		case f.PresentationHint == "subtle" || strings.HasPrefix(f.Name, ".omp_outlined"):
			t.Errorf("the stack of a sleeping thread has %+v", f)
		}
	}
	omptest.Equal(t, "subtle frames of a library", subtle, 1)

	// An adapter without the inlined functions: the frame at their address is the outlined function.
	var physical []nativeFrame
	for i, f := range sleeps.Stack {
		if !f.Inlined {
			physical = append(physical, native(sleeps)[i])
		}
	}
	renamed := 0
	for _, f := range e.frames(sleeps.LWP, physical) {
		if f.Id < ownIDs && f.Name == "main [parallel]" {
			renamed++
		}
	}
	omptest.Equal(t, "names of the region's body", renamed, 1)
}

// frames returns the stack that the client gets if the adapter has the given one.
func (e *ends) frames(lwp int, list []nativeFrame) []godap.StackFrame {
	e.t.Helper()
	var frames []string
	for i, f := range list {
		source := ""
		if f.source != "" {
			source = fmt.Sprintf(`"source":{"path":%q},`, f.source)
		}
		frames = append(frames, fmt.Sprintf(
			`{"id":%d,"name":%q,"line":1,"column":0,%s"instructionPointerReference":"%#x"}`,
			lwp*100+i, f.name, source, uint64(f.pc)))
	}
	body := fmt.Sprintf(`{"stackFrames":[%s],"totalFrames":%d}`, strings.Join(frames, ","), len(frames))
	var got godap.StackTraceResponseBody
	if err := json.Unmarshal(e.ask("stackTrace", fmt.Sprintf(`{"threadId":%d}`, lwp), body), &got); err != nil {
		e.t.Fatal(err)
	}
	return got.StackFrames
}
