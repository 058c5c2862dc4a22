package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/delve"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// goProgram is the Go program on LLVM's runtime.
func goProgram(t testing.TB) omptest.Run {
	return omptest.Run{Exe: omptest.CompileGo(t, omptest.LLVM), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live}
}

// other is another client of Delve.
type other struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

func connect(t testing.TB, socket string) *other {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &other{t, c, bufio.NewReader(c)}
}

// ask makes one call and returns the result.
func (o *other) ask(method string, in any) map[string]any {
	o.t.Helper()
	o.send(method, in)
	line, err := o.r.ReadBytes('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	var reply struct {
		Result map[string]any
		Error  any
	}
	if err := json.Unmarshal(line, &reply); err != nil || reply.Error != nil {
		o.t.Fatalf("%s: %v, %v", method, err, reply.Error)
	}
	return reply.Result
}

func (o *other) send(method string, in any) {
	text, _ := json.Marshal(map[string]any{"method": "RPCServer." + method, "params": []any{in}, "id": 1})
	if _, err := o.c.Write(append(text, '\n')); err != nil {
		o.t.Fatal(err)
	}
}

// running tells whether the program runs; one that has exited does not.
func (o *other) running() bool {
	o.t.Helper()
	o.send("State", map[string]any{"NonBlocking": true})
	line, err := o.r.ReadBytes('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	var reply struct {
		Result struct{ State struct{ Running bool } }
	}
	_ = json.Unmarshal(line, &reply)
	return reply.Result.State.Running
}

func (o *other) command(name string) { o.ask("Command", map[string]any{"name": name}) }

// TestDelveLeaves looks at a program that Delve lets run, and at one that another
// client has halted: each is left as it was.
func TestDelveLeaves(t *testing.T) {
	h := omptest.StartUnderDelve(t, goProgram(t))
	o := connect(t, h.Socket)
	const announced = "halting it"
	for _, halted := range []bool{false, true} {
		if halted {
			o.command("halt")
		}
		for _, verb := range []string{"report", "threads", "doctor"} {
			a := inTime(t, verb, delve.Scheme+h.Socket)
			if a.status != exitOK || a.stdout == "" || strings.Contains(a.errs, announced) == halted {
				t.Errorf("halted %v: %s: status %d\n%s%s", halted, verb, a.status, a.errs, a.stdout)
			}
			if o.running() == halted {
				t.Fatalf("%s: halted was %v, and is not", verb, halted)
			}
		}
	}
	pic := pictureOf(t, delve.Scheme+h.Socket)
	if k := pic.Target; k.Kind != "process" || k.PID != h.Truth.Program.PID || k.Executable != h.Exe || k.Pause != nil {
		t.Errorf("%+v", k)
	}
}

// TestDelveRefused asks for programs that cannot be looked at.
func TestDelveRefused(t *testing.T) {
	h := omptest.StartUnderDelve(t, goProgram(t))
	page := serve(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	old := serve(t, replying(`{"id":1,"result":{"DelveVersion":"Version: 0.9","APIVersion":1},"error":null}`))
	full := serve(t, func(c net.Conn) {
		for _, err := io.WriteString(c, strings.Repeat("x", 1<<20)); err == nil; {
			_, err = io.WriteString(c, strings.Repeat("x", 1<<20))
		}
	})
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for name, tt := range map[string]struct {
		target string
		words  []string
	}{
		"nobody":      {gone.Addr().String(), []string{"no Delve", "refused", "dlv exec --headless"}},
		"no socket":   {filepath.Join(t.TempDir(), "none"), []string{"no Delve", "no such file"}},
		"web server":  {page, []string{"not one of Delve's", "dlv exec --headless"}},
		"old":         {old, []string{"version 1", "--api-version=2"}},
		"noise":       {full, []string{"not one of Delve's"}},
		"early end":   {cutting(t, h.Socket, 1), []string{"was lost", "ask again"}},
		"end in look": {cutting(t, h.Socket, 200000), []string{"was lost", "ask again"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tool(delve.Scheme+tt.target), tt.words...) })
	}
	for _, bad := range []string{"delve://", "delve://host", "delve://host:"} {
		if a := inTime(t, bad); a.status != exitUsage || !strings.Contains(a.errs, "delve://127.0.0.1:2345") {
			t.Errorf("%s: status %d: %s", bad, a.status, a.errs)
		}
	}
	o := connect(t, h.Socket)
	if !o.running() {
		t.Error("the program is halted after a look that broke off")
	}
	if err := syscall.Kill(h.Truth.Program.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for o.running() { // until Delve has noticed
	}
	refused(t, tool(delve.Scheme+h.Socket), "no living process", "has exited", "restart")
}

// serve answers connections on an address that it returns.
func serve(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

// replying sends a line for each that it gets.
func replying(line string) func(net.Conn) {
	return func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			if _, err := io.WriteString(c, line+"\n"); err != nil {
				return
			}
		}
	}
}

// cutting passes on what is said to Delve and ends after n bytes of its answers.
func cutting(t *testing.T, socket string, n int64) string {
	return serve(t, func(c net.Conn) {
		d, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		defer d.Close()
		go func() { _, _ = io.Copy(d, c) }()
		_, _ = io.CopyN(c, d, n)
	})
}
