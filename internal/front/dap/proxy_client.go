package dap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"
)

// needs maps optional requests of the protocol to the capability that an adapter announces for them. A request
// without its capability is not sent, because some adapters end after a request that they do not know.
func needs() map[string]string {
	return map[string]string{
		"breakpointLocations": "supportsBreakpointLocationsRequest", "cancel": "supportsCancelRequest",
		"completions": "supportsCompletionsRequest", "dataBreakpointInfo": "supportsDataBreakpoints",
		"disassemble": "supportsDisassembleRequest", "exceptionInfo": "supportsExceptionInfoRequest",
		"goto": "supportsGotoTargetsRequest", "gotoTargets": "supportsGotoTargetsRequest",
		"loadedSources": "supportsLoadedSourcesRequest", "locations": "", "modules": "supportsModulesRequest",
		"readMemory": "supportsReadMemoryRequest", "restart": "supportsRestartRequest",
		"restartFrame": "supportsRestartFrame", "reverseContinue": "supportsStepBack",
		"setDataBreakpoints": "supportsDataBreakpoints", "setExpression": "supportsSetExpression",
		"setFunctionBreakpoints":    "supportsFunctionBreakpoints",
		"setInstructionBreakpoints": "supportsInstructionBreakpoints",
		"setVariable":               "supportsSetVariable", "stepBack": "supportsStepBack",
		"stepInTargets": "supportsStepInTargetsRequest", "terminate": "supportsTerminateRequest",
		"terminateThreads": "supportsTerminateThreadsRequest", "writeMemory": "supportsWriteMemoryRequest",
	}
}

// resumes lists the requests after which the program runs.
var resumes = []string{
	"continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "goto", "restart", "restartFrame",
	"disconnect", "terminate",
}

// subject contains the numbers in a request.
type subject struct {
	ThreadID           int    `json:"threadId"`
	FrameID            int    `json:"frameId"`
	VariablesReference int    `json:"variablesReference"`
	Expression         string `json:"expression"`
	Context            string `json:"context"`
}

// isOwn reports whether a number belongs to the proxy.
func (s subject) isOwn() bool {
	return s.ThreadID >= ownIDs || s.FrameID >= ownIDs || s.VariablesReference >= ownIDs
}

// fromClient handles a message of the client.
func (p *proxy) fromClient(m *message, text []byte) []byte {
	if m.Type != "request" {
		return text
	}
	var about subject
	_ = json.Unmarshal(m.Arguments, &about)
	if p.answerOwn(&m.packet, about) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if need, known := needs()[m.Command]; known && p.greeted && !p.can[need] {
		p.client.respond(m.Seq, m.Command, nil, fmt.Errorf("%s: the debugger does not know this request", m.Command))
		return nil
	}
	if p.stop != nil {
		p.stop.postpone()
		p.stop.wanted = p.stop.wanted || m.Command == "pause"
	}
	q := &asked{packet: m.packet, stop: p.stop}
	p.asked[m.Seq] = q
	text = p.prepare(q, about, text)
	if text == nil {
		delete(p.asked, m.Seq)
	}
	if slices.Contains(resumes, m.Command) {
		p.leave()
	}
	return text
}

// prepare sets the edits of the answer to a request, and changes the request if necessary. It returns nil if
// the request is answered and not passed. The caller holds mu.
func (p *proxy) prepare(q *asked, about subject, text []byte) []byte {
	switch q.Command {
	case "initialize":
		p.hello = greeting{LinesStartAt1: true}
		_ = json.Unmarshal(q.Arguments, &p.hello)
		q.answer = p.addCapabilities
	case "launch", "attach":
		p.core, p.pid = cmp.Or(p.core, corePath(q.Arguments)), cmp.Or(processID(q.Arguments), p.pid)
	case "threads":
		q.answer = p.nameThreads
	case "stackTrace":
		return p.widen(q, about, text)
	case "scopes":
		q.answer = func(text []byte, body span) []edit { return p.addScopes(about.FrameID, text, body) }
	case "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints":
		return p.breaks.request(q, text)
	}
	return text
}

// answerOwn answers a request for the proxy, and reports whether it is one.
func (p *proxy) answerOwn(r *packet, about subject) bool {
	words := strings.Fields(about.Expression)
	console := r.Command == "evaluate" && len(words) > 0 && words[0] == command && p.verbIsOurs(words[1:])
	switch {
	case strings.HasPrefix(r.Command, "ompd/"):
	case console, r.Command == "evaluate" && strings.HasPrefix(about.Expression, omp):
	case about.isOwn():
	default:
		return false
	}
	seq, name, arguments := r.Seq, r.Command, r.Arguments
	p.spawn(func() {
		var body any
		err := p.contain(func() (err error) {
			if console {
				body, err = p.console(p.life, words[1:])
			} else {
				body, err = p.answer(p.life, name, arguments, about)
			}
			return err
		})
		if _, none := body.(*nothing); none {
			body = nil
		}
		p.client.respond(seq, name, body, err)
	})
	return true
}

// verbIsOurs reports whether the words after omp are answered by the proxy and not by the debugger.
func (p *proxy) verbIsOurs(words []string) bool {
	if !p.config.Debugger.ownVerbs {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	here := p.core != "" || p.pid != 0 && p.local
	return here && len(words) > 0 && slices.Contains(p.verbs(), words[0])
}

// verbs returns the verbs of the console. A program that a debugger holds has no profile.
func (p *proxy) verbs() []string {
	return slices.DeleteFunc(slices.Clone(p.config.Verbs), func(v string) bool { return v == verbProfile })
}

// console runs a verb on the debugger's program.
func (p *proxy) console(ctx context.Context, words []string) (body godap.EvaluateResponseBody, err error) {
	if len(words) == 0 {
		words = []string{"report"}
	}
	if words[0] == "help" {
		body.Result = help(p.verbs())
		return body, nil
	}
	if !slices.Contains(p.verbs(), words[0]) {
		return body, fmt.Errorf("omp %s: it must be one of %s", words[0], strings.Join(p.verbs(), ", "))
	}
	s := p.present()
	if s == nil {
		return body, errNotHeld
	}
	p.looking.Lock()
	defer p.looking.Unlock()
	t, err := p.open(ctx, s)
	if err != nil {
		return body, err
	}
	out, err := p.config.Verb(ctx, t, words)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	body.Result = strings.TrimRight(out, "\n")
	return body, err
}

// errNotHeld is the error of a request that needs a stopped program.
var errNotHeld = errors.New("the program is running, or there is none: OpenMP's state is shown when it stops")

// answer answers a request that only the proxy can answer.
func (p *proxy) answer(ctx context.Context, name string, arguments json.RawMessage, about subject) (any, error) {
	s := p.present()
	if s == nil {
		return nil, errNotHeld
	}
	if name == requestLook {
		return p.lookNow(ctx, s)
	}
	select {
	case <-s.looked:
	case <-s.ctx.Done():
		return nil, errNotHeld
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v := s.view
	if v == nil {
		return nil, s.failed
	}
	switch name {
	case requestPicture:
		return v.pic, nil
	case requestRegions:
		return v.regions(ctx, nothing{})
	case requestWaitGraph:
		return v.waitGraph(ctx, nothing{})
	case "scopes":
		return p.ownScopes(v, about.FrameID)
	case "variables":
		return callView(ctx, arguments, v.variables)
	case "stackTrace":
		return callView(ctx, arguments, v.stackTrace)
	case "evaluate":
		return p.fact(v, about)
	}
	return nil, fmt.Errorf("%s: this item is ompd-inspect's, not the debugger's", name)
}

// callView calls a method of a view with arguments of the protocol.
func callView[A, B any](
	ctx context.Context, arguments json.RawMessage, f func(context.Context, A) (B, error),
) (body B, err error) {
	var a A
	if err := decode(arguments, &a); err != nil {
		return body, err
	}
	return f(ctx, a)
}

// fact returns the named data of a thread.
func (p *proxy) fact(v *view, about subject) (body godap.EvaluateResponseBody, err error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(about.Expression), omp)
	if !ok {
		return body, errors.New("this frame is another thread's: select it there to see its variables")
	}
	t := p.threadOf(v, about.FrameID)
	if t == nil {
		t = v.byID[v.firstThread()]
	}
	if t == nil {
		return body, errors.New("there is no thread")
	}
	for _, n := range v.facts(t) {
		if n.name == name {
			return godap.EvaluateResponseBody{Result: n.value, Type: n.typ, VariablesReference: v.refer(n)}, nil
		}
	}
	return body, fmt.Errorf("the thread has no %s%s", omp, name)
}
