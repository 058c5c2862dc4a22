package dap

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// fromAdapter handles a message of the adapter.
func (p *proxy) fromAdapter(m *message, text []byte) []byte {
	switch m.Type {
	case "event":
		return p.handleEvent(m.Event, text)
	case "response":
		return p.handleReply(m, text)
	}
	return text
}

// handleReply handles an answer of the adapter.
func (p *proxy) handleReply(m *message, text []byte) []byte {
	p.mu.Lock()
	if answer, ours := p.calls.waiting[m.RequestSeq]; ours {
		delete(p.calls.waiting, m.RequestSeq)
		p.mu.Unlock()
		r := reply{text: text}
		if !m.Success {
			r.err = errNoResult(m.Command, string(text))
		}
		answer <- r
		return nil
	}
	q := p.asked[m.RequestSeq]
	delete(p.asked, m.RequestSeq)
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop.postpone()
	}
	switch {
	case q == nil:
		return text
	case !m.Success:
		if slices.Contains(resumes, q.Command) && q.stop != nil && p.stop == nil {
			p.handleHalt() // it is stopped as before
		}
		return text
	case q.answer == nil:
		return text
	}
	if s := q.stop; s != nil && s == p.stop && !s.isOver() {
		if s.eager || s.hasBegun() {
			p.spawn(func() { p.answerLate(q, text) })
			return nil
		}
		s.plain = true
	}
	return p.editAnswer(q, text)
}

// editAnswer returns an answer with the additions. The caller holds mu.
func (p *proxy) editAnswer(q *asked, text []byte) []byte {
	body, ok := findValue(text, "body")
	if !ok {
		return text
	}
	better := text
	_ = p.contain(func() error { // an answer that cannot be changed passes unchanged
		better = applyEdits(text, q.answer(text, body))
		return nil
	})
	return better
}

// Time to wait for a snapshot in progress when a client sends a request: for a client that can be asked later
// to refresh, and for one that cannot.
const (
	patience     = 8 * time.Millisecond
	longPatience = 2 * time.Second
)

// answerLate sends an answer when the snapshot is done, or unchanged if that takes too long.
func (p *proxy) answerLate(q *asked, text []byte) {
	p.mu.Lock()
	wait := longPatience
	if p.hello.SupportsInvalidatedEvent {
		wait = patience
	}
	p.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-q.stop.looked:
	case <-q.stop.ctx.Done():
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !q.stop.isOver() {
		q.stop.plain = true
	}
	p.client.put(p.editAnswer(q, text))
}

// handleEvent handles an event of the adapter.
func (p *proxy) handleEvent(name string, text []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := findValue(text, "body")
	switch name {
	case "process":
		e := decodeAt[godap.ProcessEventBody](text, body)
		p.local = e.SystemProcessId != 0
		if p.local {
			p.pid = e.SystemProcessId
		}
		p.breaks.stale = true
	case "capabilities":
		at, _ := findValue(text, "body", "capabilities")
		p.learn(text, at)
	case "stopped":
		return p.handleStopped(text, body)
	case "continued", "exited", "terminated":
		p.leave()
	}
	return text
}

// handleStopped passes the event of a stop, and starts a snapshot. Each thread may have an event of its own.
func (p *proxy) handleStopped(text []byte, body span) []byte {
	e := decodeAt[godap.StoppedEventBody](text, body)
	if p.stop != nil && p.stop.kept != nil { // of another thread, at the same stop
		p.stop.kept = append(p.stop.kept, text)
		return nil
	}
	if at := p.breaks.placedConstructs(e.HitBreakpointIds); at != nil && p.stop == nil && e.AllThreadsStopped {
		p.breaks.consider(text, e, at)
		return nil
	}
	if hit := p.breaks.hitText(e.HitBreakpointIds); hit != "" {
		p.client.print(console, hit)
	}
	if e.AllThreadsStopped || p.core != "" {
		p.handleHalt()
		p.stop.passing = p.stop.passing || isPassing(e.Reason)
	}
	return text
}

// learn records the capabilities of the adapter.
func (p *proxy) learn(text []byte, object span) {
	for name, at := range findMembers(text, object) {
		if v := decodeAt[any](text, at); v != nil {
			b, isBool := v.(bool)
			p.can[name] = b || !isBool
		}
	}
	p.greeted = true
}

// addCapabilities adds the proxy's capabilities to those of the adapter.
func (p *proxy) addCapabilities(text []byte, body span) []edit {
	p.learn(text, body)
	if !p.can["supportsInstructionBreakpoints"] {
		return nil
	}
	var more [][]byte
	var edits []edit
	can := findMembers(text, body)
	if at, ok := can["supportsFunctionBreakpoints"]; !ok {
		more = append(more, newMember("supportsFunctionBreakpoints", true))
	} else if !p.can["supportsFunctionBreakpoints"] {
		edits = append(edits, replaceValue(text, at, "supportsFunctionBreakpoints", true))
	}
	at, ok := can["exceptionBreakpointFilters"]
	list := findItems(text, at)
	if !ok || list == nil {
		more = append(more, newMember("exceptionBreakpointFilters", constructFilters()))
	} else {
		all := receivedElements(text, list)
		for _, f := range constructFilters() {
			all = append(all, addition(f))
		}
		p.breaks.filters = true
		edits = append(edits, replaceList(text, at, list, all))
	}
	if more != nil {
		edits = append(edits, addMembers(text, body, bytes.Join(more, []byte(","))))
	}
	return edits
}

// nameThreads names the threads, and adds those that the debugger does not list.
func (p *proxy) nameThreads(text []byte, body span) (edits []edit) {
	v := p.currentView()
	if v == nil {
		return nil
	}
	at := findMembers(text, body)["threads"]
	list := findItems(text, at)
	listedThreads := map[*thread]bool{}
	all := receivedElements(text, list)
	for i, element := range list {
		object := findMembers(text, element)
		id, name := decodeAt[int](text, object["id"]), decodeAt[string](text, object["name"])
		if m := p.config.Debugger.threads; m != nil {
			if found := m.FindStringSubmatch(name); found != nil {
				lwp, _ := strconv.Atoi(found[1])
				p.stop.lwps[id] = lwp
				p.assign(v)
			}
		}
		t := v.byID[id]
		if t == nil || object["name"] == (span{}) {
			continue
		}
		listedThreads[t] = true
		better := v.threadName(t)
		if p.config.Debugger.missing {
			better += " · " + name
		}
		e := replaceValue(text, object["name"], "name", better)
		e.from, e.to = e.from-element.from, e.to-element.from
		all[i].text = applyEdits(element.slice(text), []edit{e})
	}
	if list == nil {
		return nil
	}
	if p.config.Debugger.missing {
		for _, t := range v.order {
			if !listedThreads[t] && t.LWP != 0 && t.Role != picture.RoleNone {
				t.id = ownIDs + t.LWP
				v.byID[t.id] = t
				all = append(all, addition(godap.Thread{Id: t.id, Name: v.threadName(t)}))
			}
		}
	}
	return []edit{replaceList(text, at, list, all)}
}

// addScopes adds OpenMP's scopes of a frame's thread to the scopes of a frame.
func (p *proxy) addScopes(frame int, text []byte, body span) []edit {
	v := p.currentView()
	at := findMembers(text, body)["scopes"]
	list := findItems(text, at)
	if v == nil || list == nil {
		return nil
	}
	t := p.threadOf(v, frame)
	if t == nil {
		return nil
	}
	all := receivedElements(text, list)
	for _, s := range v.threadScopes(t) {
		all = append(all, addition(newScope(v, s)))
	}
	return []edit{replaceList(text, at, list, all)}
}

// newScope returns a scope in the protocol's form.
func newScope(v *view, s node) godap.Scope {
	return godap.Scope{Name: s.name, VariablesReference: v.refer(s), PresentationHint: s.kind}
}

// ownScopes returns the scopes of a frame that the debugger does not have.
func (p *proxy) ownScopes(v *view, frame int) (body godap.ScopesResponseBody, err error) {
	f := v.shown[frame]
	if f == nil {
		return body, errOld("frame", frame)
	}
	body.Scopes = []godap.Scope{}
	for _, s := range v.threadScopes(f.thread) {
		body.Scopes = append(body.Scopes, newScope(v, s))
	}
	return body, nil
}

// threadOf returns the thread of a frame; nil if it is not known.
func (p *proxy) threadOf(v *view, frame int) *thread {
	if f := v.shown[frame]; f != nil {
		return f.thread
	}
	if p.stop != nil {
		return p.stop.frames[frame]
	}
	return nil
}

// currentView returns the view of the last snapshot, if it is one of the current stop.
func (p *proxy) currentView() *view {
	if p.stop == nil {
		return nil
	}
	return p.stop.view
}

// resultOf returns the output of a command in the debugger's console.
func resultOf(text []byte) string {
	at, _ := findValue(text, "body", "result")
	return decodeAt[string](text, at)
}

// parsePicture parses a picture from the output of a debugger's script.
func parsePicture(text []byte, into any) error {
	s := resultOf(text)
	if err := jsonx.Unmarshal([]byte(s), into, budget.NewLedger(maxReceived), "a picture"); err != nil {
		return errNoResult("report", s)
	}
	return nil
}
