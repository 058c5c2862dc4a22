package dap

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// fromAdapter handles a message of the adapter.
func (p *proxy) fromAdapter(m *message, text []byte) []byte {
	switch m.Type {
	case "event":
		return p.event(m.Event, text)
	case "response":
		return p.replied(m, text)
	}
	return text
}

// replied handles an answer of the adapter.
func (p *proxy) replied(m *message, text []byte) []byte {
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
		p.stop.wait()
	}
	switch {
	case q == nil:
		return text
	case !m.Success:
		if slices.Contains(resumes, q.Command) && q.stop != nil && p.stop == nil {
			p.halted() // it stands as before
		}
		return text
	case q.answer == nil:
		return text
	}
	if s := q.stop; s != nil && s == p.stop && !s.over() {
		if s.eager || s.begun() {
			p.begin(func() { p.late(q, text) })
			return nil
		}
		s.plain = true
	}
	return p.changed(q, text)
}

// changed is an answer with what is added. The caller holds mu.
func (p *proxy) changed(q *asked, text []byte) []byte {
	body, ok := within(text, "body")
	if !ok {
		return text
	}
	better := text
	_ = p.contained(func() error { // an answer that cannot be changed passes as it is
		better = edited(text, q.answer(text, body))
		return nil
	})
	return better
}

// Patience with looks that are not done yet when a client asks: for a client that can be told later to ask
// again, and for one that cannot.
const (
	patience     = 8 * time.Millisecond
	longPatience = 2 * time.Second
)

// late gives an answer when the look is done, or as it is if that takes too long.
func (p *proxy) late(q *asked, text []byte) {
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
	if !q.stop.over() {
		q.stop.plain = true
	}
	p.client.put(p.changed(q, text))
}

// event handles an event of the adapter.
func (p *proxy) event(name string, text []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := within(text, "body")
	switch name {
	case "process":
		e := valueOf[godap.ProcessEventBody](text, body)
		p.local = e.SystemProcessId != 0
		if p.local {
			p.pid = e.SystemProcessId
		}
		p.breaks.stale = true
	case "capabilities":
		at, _ := within(text, "body", "capabilities")
		p.learn(text, at)
	case "stopped":
		return p.stoppedAt(text, body)
	case "continued", "exited", "terminated":
		p.leave()
	}
	return text
}

// stoppedAt passes the event of a stop, and begins to look. Each thread may have one of its own.
func (p *proxy) stoppedAt(text []byte, body span) []byte {
	e := valueOf[godap.StoppedEventBody](text, body)
	if p.stop != nil && p.stop.kept != nil { // of another thread, at the same stop
		p.stop.kept = append(p.stop.kept, text)
		return nil
	}
	if at := p.breaks.placed(e.HitBreakpointIds); at != nil && p.stop == nil && e.AllThreadsStopped {
		p.breaks.consider(text, e, at)
		return nil
	}
	if hit := p.breaks.hitText(e.HitBreakpointIds); hit != "" {
		p.client.say(console, hit)
	}
	if e.AllThreadsStopped || p.core != "" {
		p.halted()
	}
	return text
}

// learn notes what the adapter can do.
func (p *proxy) learn(text []byte, object span) {
	for name, at := range members(text, object) {
		if v := valueOf[any](text, at); v != nil {
			b, isBool := v.(bool)
			p.can[name] = b || !isBool
		}
	}
	p.greeted = true
}

// initialized adds what the proxy can do to what the adapter can.
func (p *proxy) initialized(text []byte, body span) []edit {
	p.learn(text, body)
	if !p.can["supportsInstructionBreakpoints"] {
		return nil
	}
	var more [][]byte
	var edits []edit
	can := members(text, body)
	if at, ok := can["supportsFunctionBreakpoints"]; !ok {
		more = append(more, newMember("supportsFunctionBreakpoints", true))
	} else if !p.can["supportsFunctionBreakpoints"] {
		edits = append(edits, replaced(text, at, "supportsFunctionBreakpoints", true))
	}
	at, ok := can["exceptionBreakpointFilters"]
	list := items(text, at)
	if !ok || list == nil {
		more = append(more, newMember("exceptionBreakpointFilters", constructFilters()))
	} else {
		all := came(text, list)
		for _, f := range constructFilters() {
			all = append(all, addition(f))
		}
		p.breaks.filters = true
		edits = append(edits, relisted(text, at, list, all))
	}
	if more != nil {
		edits = append(edits, with(text, body, bytes.Join(more, []byte(","))))
	}
	return edits
}

// nameThreads names the threads, and adds those that the debugger does not list.
func (p *proxy) nameThreads(text []byte, body span) (edits []edit) {
	v := p.shownNow()
	if v == nil {
		return nil
	}
	at := members(text, body)["threads"]
	list := items(text, at)
	listedThreads := map[*thread]bool{}
	all := came(text, list)
	for i, element := range list {
		object := members(text, element)
		id, name := valueOf[int](text, object["id"]), valueOf[string](text, object["name"])
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
		better := v.nameOf(t)
		if p.config.Debugger.missing {
			better += " · " + name
		}
		e := replaced(text, object["name"], "name", better)
		e.from, e.to = e.from-element.from, e.to-element.from
		all[i].text = edited(element.of(text), []edit{e})
	}
	if list == nil {
		return nil
	}
	if p.config.Debugger.missing {
		for _, t := range v.order {
			if !listedThreads[t] && t.LWP != 0 && t.Role != picture.RoleNone {
				t.id = ownIDs + t.LWP
				v.byID[t.id] = t
				all = append(all, addition(godap.Thread{Id: t.id, Name: v.nameOf(t)}))
			}
		}
	}
	return []edit{relisted(text, at, list, all)}
}

// addScopes adds what is known of a frame's thread to the scopes of a frame.
func (p *proxy) addScopes(frame int, text []byte, body span) []edit {
	v := p.shownNow()
	at := members(text, body)["scopes"]
	list := items(text, at)
	if v == nil || list == nil {
		return nil
	}
	t := p.threadOf(v, frame)
	if t == nil {
		return nil
	}
	all := came(text, list)
	for _, s := range v.scopesOf(t) {
		all = append(all, addition(scopeOf(v, s)))
	}
	return []edit{relisted(text, at, list, all)}
}

// scopeOf tells the client of a scope.
func scopeOf(v *view, s node) godap.Scope {
	return godap.Scope{Name: s.name, VariablesReference: v.refer(s), PresentationHint: s.kind}
}

// scopesHere are the scopes of a frame that the debugger does not know.
func (p *proxy) scopesHere(v *view, frame int) (body godap.ScopesResponseBody, err error) {
	f := v.shown[frame]
	if f == nil {
		return body, errOld("frame", frame)
	}
	body.Scopes = []godap.Scope{}
	for _, s := range v.scopesOf(f.thread) {
		body.Scopes = append(body.Scopes, scopeOf(v, s))
	}
	return body, nil
}

// threadOf is the thread of a frame, nil if that is not known.
func (p *proxy) threadOf(v *view, frame int) *thread {
	if f := v.shown[frame]; f != nil {
		return f.thread
	}
	if p.stop != nil {
		return p.stop.frames[frame]
	}
	return nil
}

// shownNow is what the last look showed, if it is of the present stop.
func (p *proxy) shownNow() *view {
	if p.stop == nil {
		return nil
	}
	return p.stop.view
}

// resultOf is what a command in the debugger's console printed.
func resultOf(text []byte) string {
	at, _ := within(text, "body", "result")
	return valueOf[string](text, at)
}

// pictureOf is a picture out of what a debugger's script printed.
func pictureOf(text []byte, into any) error {
	s := resultOf(text)
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return errNoResult("report", s)
	}
	return nil
}
