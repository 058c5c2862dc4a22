package dap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
)

// TestProxyLate requests the threads during a snapshot that does not end. The answer is the debugger's, and
// after the snapshot the client is asked to refresh.
func TestProxyLate(t *testing.T) {
	core := golden(t, "llvm-deadlock")
	o := engine.Options{Exe: core["exe"].(string), Sysroot: core["sysroot"].(string)}
	target, err := engine.Open(t.Context(), core["target"].(string), o)
	if err != nil {
		t.Fatal(err)
	}
	opened, release := make(chan int), make(chan bool)
	e := startProxy(t, dap.ProxyConfig{
		OpenHeld: func(pid int, _ func() map[int]map[string]uint64) (*engine.Target, error) {
			opened <- pid
			<-release
			return target, nil
		},
	})
	e.greet(`{}`)
	attach := frame(`{"seq":2,"type":"request","command":"attach","arguments":{"pid":4711}}`)
	e.send(e.client, attach)
	e.expect(e.fromUs, attach)
	stopped := frame(`{"seq":0,"type":"event","event":"stopped","body":{"reason":"attach","allThreadsStopped":true}}`)
	e.send(e.adapter, stopped)
	e.expect(e.toUser, stopped)
	if pid := <-opened; pid != 4711 {
		t.Errorf("the process %d is looked at", pid)
	}
	list := fmt.Sprintf(`{"threads":[{"id":%d,"name":"solver"}]}`, firstThread(t, core))
	ask := frame(`{"seq":8,"type":"request","command":"threads"}`)
	const response = `{"seq":0,"type":"response","request_seq":8,"success":true,"command":"threads","body":%s}`
	answer := frame(fmt.Sprintf(response, list))
	e.send(e.client, ask)
	e.expect(e.fromUs, ask)
	e.send(e.adapter, answer)
	e.expect(e.toUser, answer)
	close(release)
	for _, want := range []string{"output", "invalidated", "ompd/changed"} {
		if text, m := e.next(e.toUser); m.Event != want {
			t.Errorf("%s came, want %s", text, want)
		}
	}
	if names := e.ask("threads", `{}`, list); !strings.Contains(string(names), "OMP 0/3 lock_cycle.c:13 · wait_lock") {
		t.Errorf("asked again, the threads are %s", names)
	}
}

// firstThread returns the first thread of a core.
func firstThread(t *testing.T, core args) int {
	t.Helper()
	c, _ := attach(t, core)
	return threads(c)[0].Id
}
