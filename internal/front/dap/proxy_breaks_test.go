package dap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestProxyBreaks sets breakpoints on constructs as instruction breakpoints, together with the client's own.
func TestProxyBreaks(t *testing.T) {
	core, _ := goldenPicture(t, "llvm-deadlock")
	e := startProxy(t, dap.ProxyConfig{
		Attach: dap.Attach{
			Target: dap.Name(core["target"].(string)), Exe: core["exe"].(string), Sysroot: core["sysroot"].(string),
		},
	})
	abilities := e.greet(`{"supportsInstructionBreakpoints":true,"supportsFunctionBreakpoints":true,` +
		`"exceptionBreakpointFilters":[{"filter":"throw","label":"Throw"}]}`)
	if n := strings.Count(string(abilities), `"filter":`); n != 7 {
		t.Errorf("the client is told of %d filters: %s", n, abilities)
	}
	e.send(e.client, frame(`{"seq":4,"type":"request","command":"setFunctionBreakpoints","arguments":`+
		`{"breakpoints":[{"name":"omp parallel"}, {"name":"main","condition":"1"},{"name":"omp barrier"}]}}`))
	text, m := e.next(e.fromUs)
	const left = `{"breakpoints":[{"name":"main","condition":"1"}]}`
	omptest.Equal(t, "breakpoints that are passed", string(m.Arguments), left)
	if bytes.Contains(text, []byte("omp ")) {
		t.Errorf("the adapter gets %s", text)
	}
	e.send(e.adapter, frame(`{"seq":1,"type":"response","request_seq":4,"command":"setFunctionBreakpoints",`+
		`"success":true,"body":{"breakpoints":[{"id":7,"verified":true}]}}`))
	_, m = e.next(e.toUser)
	var set struct{ Breakpoints []godap.Breakpoint }
	_ = json.Unmarshal(m.Body, &set)
	b := set.Breakpoints
	if len(b) != 3 || b[0].Id < ownIDs || b[1].Id != 7 || !strings.Contains(b[2].Message, "omp parallel") {
		t.Errorf("the client gets %+v", b)
	}
	e.send(e.adapter, frame(`{"seq":0,"type":"event","event":"stopped","body":{"allThreadsStopped":true}}`))
	for m.Event != "ompd/changed" {
		_, m = e.next(e.toUser)
	}
	_, m = e.next(e.fromUs)
	var at struct{ Breakpoints []godap.InstructionBreakpoint }
	_ = json.Unmarshal(m.Arguments, &at)
	if m.Command != "setInstructionBreakpoints" || m.Seq < ownIDs || len(at.Breakpoints) == 0 {
		t.Fatalf("the adapter is asked %+v", m)
	}
	var answers []string
	for i := range at.Breakpoints {
		answers = append(answers, fmt.Sprintf(`{"id":%d,"verified":true}`, 30+i))
	}
	e.send(e.adapter, frame(fmt.Sprintf(
		`{"seq":1,"type":"response","request_seq":%d,"command":"x","success":true,"body":{"breakpoints":[%s]}}`,
		m.Seq, strings.Join(answers, ","))))
	for m.Event != "breakpoint" {
		_, m = e.next(e.toUser)
	}
	var changed godap.BreakpointEventBody
	_ = json.Unmarshal(m.Body, &changed)
	if changed.Breakpoint.Id != set.Breakpoints[0].Id || !changed.Breakpoint.Verified {
		t.Errorf("the breakpoint is told to be %+v", changed)
	}
}

// TestProxyFilters removes filters of constructs from both lists that clients send, with their places, and
// leaves the debugger's own filters.
func TestProxyFilters(t *testing.T) {
	e := startProxy(t, dap.ProxyConfig{})
	const theirs = `{"supportsInstructionBreakpoints":true,"supportsExceptionFilterOptions":true, ` +
		`"exceptionBreakpointFilters": [ {"filter":"throw","label":"Throw"} ] }`
	offered := e.greet(theirs)
	omptest.Equal(t, "what the adapter can", string(daptest.Undone(offered, ownIDs)), theirs)
	e.send(e.client, frame(`{"seq":4,"type":"request","command":"setExceptionBreakpoints","arguments":`+
		`{"filters":["ompd/task begin","throw"],"filterOptions":[`+
		`{"filterId":"ompd/parallel begin","condition":"a/solve.c:31"},`+
		`{"filterId":"throw","condition":"x"},{"filterId":"ompd/task end","condition":"solve.c"},`+
		`{"filterId":"ompd/thread begin","condition":"solve.c:3"}]}}`))
	_, m := e.next(e.fromUs)
	const left = `{"filters":["throw"],"filterOptions":[{"filterId":"throw","condition":"x"}]}`
	omptest.Equal(t, "filters that are passed", string(m.Arguments), left)
	e.send(e.adapter, frame(`{"seq":1,"type":"response","request_seq":4,"command":"setExceptionBreakpoints",`+
		`"success":true,"body":{"breakpoints":[{"verified":true},{"verified":false}]}}`))
	_, m = e.next(e.toUser)
	var set struct{ Breakpoints []godap.Breakpoint }
	_ = json.Unmarshal(m.Body, &set)
	b := set.Breakpoints
	if len(b) != 6 || b[0].Id < ownIDs || !b[1].Verified || b[2].Id < ownIDs || b[3].Id > 0 {
		t.Fatalf("the client gets %+v", b)
	}
	if !strings.Contains(b[4].Message, "FILE:LINE") || !strings.Contains(b[5].Message, "no place") {
		t.Errorf("wrong places are answered by %+v", b[4:])
	}
}
