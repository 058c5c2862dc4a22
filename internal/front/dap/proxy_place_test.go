package dap_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
)

// TestProxyPlace holds back stops at constructs in other lines, and continues the program. A stop at the right
// line is sent, with those of other threads at the same stop.
func TestProxyPlace(t *testing.T) {
	core, pic := goldenPicture(t, "llvm-deadlock")
	e := startProxy(t, dap.ProxyConfig{
		Attach: dap.Attach{
			Target: dap.Name(core["target"].(string)), Exe: core["exe"].(string), Sysroot: core["sysroot"].(string),
		},
	})
	e.greet(`{"supportsInstructionBreakpoints":true,"supportsFunctionBreakpoints":true}`)
	e.send(e.client, frame(`{"seq":4,"type":"request","command":"setFunctionBreakpoints","arguments":`+
		`{"breakpoints":[{"name":"omp parallel at lock_cycle.c:13","condition":"x > 1"}]}}`))
	e.next(e.fromUs)
	e.send(e.adapter, frame(`{"seq":1,"type":"response","request_seq":4,"command":"setFunctionBreakpoints",`+
		`"success":true,"body":{"breakpoints":[]}}`))
	e.next(e.toUser)
	e.send(e.adapter, frame(`{"seq":0,"type":"event","event":"stopped","body":{"allThreadsStopped":true}}`))
	_, m := e.next(e.toUser)
	for m.Event != "ompd/changed" {
		_, m = e.next(e.toUser)
	}
	_, m = e.next(e.fromUs)
	var at struct{ Breakpoints []godap.InstructionBreakpoint }
	_ = json.Unmarshal(m.Arguments, &at)
	if len(at.Breakpoints) == 0 || at.Breakpoints[0].Condition != "x > 1" {
		t.Fatalf("the adapter is asked %s", m.Arguments)
	}
	answers := strings.Repeat(`,{"id":30,"verified":true}`, len(at.Breakpoints))[1:]
	e.send(e.adapter, frame(fmt.Sprintf(
		`{"seq":1,"type":"response","request_seq":%d,"command":"x","success":true,"body":{"breakpoints":[%s]}}`,
		m.Seq, answers)))
	if _, m = e.next(e.toUser); m.Event != "breakpoint" {
		t.Errorf("the client gets %+v", m)
	}
	e.checkPasses(`{"seq":5,"type":"request","command":"continue","arguments":{"threadId":1}}`)
	stopped := func(lwp int, hit string) string {
		return fmt.Sprintf(`{"seq":0,"type":"event","event":"stopped","body":`+
			`{"threadId":%d,"allThreadsStopped":true%s}}`, lwp, hit)
	}
	const hit = `,"hitBreakpointIds":[30]`
	e.send(e.adapter, frame(stopped(pic.Threads[2].LWP, hit)))
	if _, m = e.next(e.fromUs); m.Command != "continue" || m.Seq < ownIDs {
		t.Fatalf("at another line the adapter is asked %+v", m)
	}
	e.send(e.adapter, frame(fmt.Sprintf(
		`{"seq":1,"type":"response","request_seq":%d,"command":"continue","success":true}`, m.Seq))+
		frame(stopped(pic.Threads[0].LWP, hit))+frame(stopped(pic.Threads[1].LWP, "")))
	if _, m = e.next(e.toUser); m.Event != "output" || !strings.Contains(string(m.Body), "OpenMP parallel begin") {
		t.Errorf("the client gets %+v", m)
	}
	e.expect(e.toUser, frame(stopped(pic.Threads[0].LWP, hit))+frame(stopped(pic.Threads[1].LWP, "")))
}

// checkPasses sends a request of the client's, which the adapter must get unchanged.
func (e *ends) checkPasses(content string) {
	e.t.Helper()
	e.send(e.client, frame(content))
	e.expect(e.fromUs, frame(content))
}
