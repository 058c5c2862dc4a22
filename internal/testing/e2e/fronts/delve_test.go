package fronts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
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

// running reports whether the program runs; one that has exited does not.
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

// TestDelveGo compares the picture through Delve, and that of a core that Delve wrote, with the truth that the
// program's threads read from OpenMP and Go, and with Delve's own numbers of goroutines.
func TestDelveGo(t *testing.T) {
	for _, l := range e2e.GoLanes[:2] {
		t.Run(l.Name, func(t *testing.T) {
			h := omptest.StartUnderDelve(t, l.Run(t, omptest.Live))
			for pauses := false; !pauses; { // after the line that says READY
				call, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", h.Truth.Program.PID,
					h.Truth.Threads[triggers(h.Truth)].LWP))
				if pauses = strings.HasPrefix(string(call), "34 "); err != nil {
					t.Fatal(err)
				}
			}
			o := connect(t, h.Socket)
			o.command("halt")
			r := &omptest.Result{Truth: h.Truth, Exe: h.Exe}
			pic := e2e.Report(t, delve.Scheme+h.Socket, "--native")
			e2e.CheckGo(t, pic, r, true)
			for _, v := range pic.Verdicts {
				if strings.Contains(v.Summary, "busy") {
					t.Errorf("threads in pause() are not busy: %s", v.Summary)
				}
			}
			o.goroutines(pic)
			r.Core = filepath.Join(t.TempDir(), "core")
			o.dump(r.Core)
			e2e.CheckGo(t, e2e.Report(t, r.Core, "--native"), r, true)
		})
	}
}

// triggers returns the index of the thread that wrote the truth.
func triggers(truth omptest.Truth) int {
	return slices.IndexFunc(truth.Threads, func(th omptest.ThreadTruth) bool { return th.Function == "truth_end" })
}

// goroutines compares the numbers of goroutines with Delve's. For a thread that C created, and for one without a
// goroutine, Delve may report 0.
func (o *other) goroutines(pic *picture.Picture) {
	o.t.Helper()
	compared := 0
	for _, v := range o.ask("ListThreads", map[string]any{})["Threads"].([]any) {
		th := v.(map[string]any)
		want := int64(th["goroutineID"].(float64))
		if got := e2e.FindThread(pic, int(th["id"].(float64))); want != 0 {
			compared++
			if got == nil || got.Goroutine != want {
				o.t.Errorf("%+v, and Delve says goroutine %d", got, want)
			}
		}
	}
	if compared < 2 {
		o.t.Errorf("only %d goroutines compared", compared)
	}
}

// dump makes Delve write a core.
func (o *other) dump(path string) {
	o.t.Helper()
	o.ask("DumpStart", map[string]any{"Destination": path})
	for {
		state := o.ask("DumpWait", map[string]any{"Wait": 1000})["State"].(map[string]any)
		if state["Dumping"] == false {
			return
		}
	}
}

// TestDelveLeaves looks at a program that runs under Delve, and at one that another client has halted: each is in
// the same state afterwards.
func TestDelveLeaves(t *testing.T) {
	h := omptest.StartUnderDelve(t, goProgram(t))
	o := connect(t, h.Socket)
	const announced = "it is halted"
	for _, halted := range []bool{false, true} {
		if halted {
			o.command("halt")
		}
		for _, verb := range []string{"report", "threads", "doctor"} {
			a := e2e.OutputInTime(t, verb, delve.Scheme+h.Socket)
			if a.Status != cli.ExitOK || a.Stdout == "" || strings.Contains(a.Errs, announced) == halted {
				t.Errorf("halted %v: %s: status %d\n%s%s", halted, verb, a.Status, a.Errs, a.Stdout)
			}
			if o.running() == halted {
				t.Fatalf("%s: halted was %v, and is not", verb, halted)
			}
		}
	}
	pic := e2e.Report(t, delve.Scheme+h.Socket)
	if k := pic.Target; k.Kind != "process" || k.PID != h.Truth.Program.PID || k.Executable != h.Exe || k.Pause != nil {
		t.Errorf("%+v", k)
	}
}

// TestDelveRefused looks at programs that cannot be inspected.
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
		t.Run(name, func(t *testing.T) { e2e.CheckRefused(t, e2e.Process(delve.Scheme+tt.target), tt.words...) })
	}
	if a := e2e.OutputInTime(t, "--server", "unix:///nowhere", "delve://127.0.0.1:2345"); a.Status != cli.ExitUsage ||
		!strings.Contains(a.Errs, "leave out --server") {
		t.Errorf("at a server: status %d: %s", a.Status, a.Errs)
	}
	for _, bad := range []string{"delve://", "delve://host", "delve://host:"} {
		a := e2e.OutputInTime(t, bad)
		if a.Status != cli.ExitUsage || !strings.Contains(a.Errs, "delve://127.0.0.1:2345") {
			t.Errorf("%s: status %d: %s", bad, a.Status, a.Errs)
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
	e2e.CheckRefused(t, e2e.Process(delve.Scheme+h.Socket), "no living process", "has exited", "restart")
}

// serve answers connections on the address that it returns.
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

// replying returns a server that answers each line by line.
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

// cutting forwards requests to Delve and stops after n bytes of its answers.
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
