package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// breaks contains the breakpoints on constructs. The debugger sets them as instruction breakpoints, together
// with those that the client sets itself.
type breaks struct {
	p         *proxy
	filters   bool                // the debugger has filters of its own
	functions []construct         // requested by name
	checked   []construct         // requested by filters
	client    []json.RawMessage   // the client's own instruction breakpoints
	stale     bool                // they must be set (again)
	set       map[int][]construct // by the debugger's numbers
	last      int
}

// construct is an event of OpenMP at which to stop: "parallel begin".
type construct struct {
	event string
	at    *place // of the construct in the source; nil for all of them
	when  when
	id    int // for the client
}

// constructEvents returns the events, by the names of the standard.
func constructEvents() []string {
	return []string{"parallel begin", "parallel end", "task begin", "task end", "thread begin", "thread end"}
}

// when contains the conditions of a breakpoint, in the debugger's syntax.
type when struct {
	Condition    string `json:"condition"`
	HitCondition string `json:"hitCondition"`
}

// filterPrefix is the prefix of the names of filters for constructs.
const filterPrefix = "ompd/"

// constructFilters returns the events as filters.
func constructFilters() []godap.ExceptionBreakpointsFilter {
	var out []godap.ExceptionBreakpointsFilter
	for _, e := range constructEvents() {
		f := godap.ExceptionBreakpointsFilter{Filter: filterPrefix + e, Label: "OpenMP: " + e}
		if !strings.HasPrefix(e, "thread") {
			f.SupportsCondition, f.ConditionDescription = true, "FILE:LINE of the construct"
		}
		out = append(out, f)
	}
	return out
}

// parseConstruct parses the name of a breakpoint: "omp parallel", "omp task end at solve.c:31". The error
// describes the syntax.
func parseConstruct(name string) (c construct, ours bool, err error) {
	what, where, placed := strings.Cut(name, " at ")
	words := strings.Fields(what)
	if len(words) == 0 || words[0] != command {
		return c, false, nil
	}
	c.event = strings.Join(words[1:], " ")
	if len(words) == 2 {
		c.event += " begin"
	}
	if !slices.Contains(constructEvents(), c.event) {
		return c, true, fmt.Errorf("%s: it must be omp parallel, task or thread, then begin or end, then at "+
			"FILE:LINE", name)
	}
	if placed {
		c.at, err = parsePlace(c.event, where)
	}
	return c, true, err
}

// errNoInstructions is the error of breakpoints on constructs in a debugger that lacks instruction breakpoints.
var errNoInstructions = errors.New("breakpoints on constructs need instruction breakpoints, which the debugger lacks")

// request removes the breakpoints on constructs from a request, and adds them to the answer. It returns nil if
// that leaves no request for the debugger, and answers the request itself. The caller holds mu.
func (b *breaks) request(q *asked, text []byte) []byte {
	switch q.Command {
	case "setInstructionBreakpoints":
		return b.addInstructions(q, text)
	case "setExceptionBreakpoints":
		return b.removeFilters(q, text)
	}
	at, _ := findValue(text, "arguments", "breakpoints")
	list := findItems(text, at)
	var left [][]byte
	ours := make([]*godap.Breakpoint, len(list))
	b.functions = nil
	for i, element := range list {
		name := decodeAt[string](text, findMembers(text, element)["name"])
		c, isOurs, err := parseConstruct(name)
		if !isOurs {
			left = append(left, element.slice(text))
			continue
		}
		ours[i] = &godap.Breakpoint{}
		if err == nil && !b.p.can["supportsInstructionBreakpoints"] {
			err = errNoInstructions
		}
		if err != nil {
			ours[i].Message = err.Error()
			continue
		}
		c = b.assignID(c)
		c.when = decodeAt[when](text, element)
		b.functions = append(b.functions, c)
		ours[i].Id, ours[i].Message = c.id, "it will be set when the program stops with its OpenMP runtime loaded"
	}
	b.update()
	if !b.p.can["supportsFunctionBreakpoints"] {
		for i := range ours {
			if ours[i] == nil {
				ours[i] = &godap.Breakpoint{Message: "the debugger has no breakpoints on functions"}
			}
		}
		body := godap.SetFunctionBreakpointsResponseBody{Breakpoints: compactList(ours)}
		b.p.client.respond(q.Seq, q.Command, body, nil)
		return nil
	}
	if len(left) == len(list) {
		return text
	}
	q.answer = func(text []byte, body span) []edit { return mergeBreakpoints(text, body, ours) }
	return applyEdits(text, []edit{{at, encodeList(left)}})
}

// compactList returns a list without nil elements.
func compactList(list []*godap.Breakpoint) []godap.Breakpoint {
	out := make([]godap.Breakpoint, len(list))
	for i, b := range list {
		out[i] = *b
	}
	return out
}

// mergeBreakpoints returns the edits that insert the proxy's breakpoints at their places in the client's list.
func mergeBreakpoints(text []byte, body span, ours []*godap.Breakpoint) []edit {
	at, ok := findMembers(text, body)["breakpoints"]
	list := findItems(text, at)
	if !ok {
		return nil
	}
	theirs := receivedElements(text, list)
	var all []element
	for _, b := range ours {
		switch {
		case b != nil:
			all = append(all, addition(b))
		case len(theirs) > 0:
			all, theirs = append(all, theirs[0]), theirs[1:]
		}
	}
	return []edit{replaceList(text, at, list, all)}
}

// assignID assigns a breakpoint the number for the client.
func (b *breaks) assignID(c construct) construct {
	b.last++
	c.id = ownIDs + b.last
	return c
}

// removeFilters removes filters of constructs from a request: those by name, and those with a condition, which
// is a place.
func (b *breaks) removeFilters(q *asked, text []byte) []byte {
	var edits []edit
	var ours []*godap.Breakpoint
	b.checked = nil
	for _, key := range []string{"filters", "filterOptions"} {
		at, _ := findValue(text, "arguments", key)
		var left [][]byte
		list := findItems(text, at)
		for _, e := range list {
			option := godap.ExceptionFilterOptions{FilterId: decodeAt[string](text, e)}
			if key == "filterOptions" {
				option = decodeAt[godap.ExceptionFilterOptions](text, e)
			}
			one, isOurs := b.addFilter(option)
			if ours = append(ours, one); !isOurs {
				left = append(left, e.slice(text))
			}
		}
		if len(left) < len(list) {
			edits = append(edits, edit{at, encodeList(left)})
		}
	}
	b.update()
	if !b.filters && b.p.can["supportsInstructionBreakpoints"] {
		b.p.client.respond(q.Seq, q.Command, nil, nil) // the debugger has no filters: it may not know the request
		return nil
	}
	if len(edits) == 0 {
		return text
	}
	q.answer = func(text []byte, body span) []edit { return mergeBreakpoints(text, body, ours) }
	return applyEdits(text, edits)
}

// addFilter adds a filter of a construct, and reports whether it is one.
func (b *breaks) addFilter(o godap.ExceptionFilterOptions) (*godap.Breakpoint, bool) {
	event, isOurs := strings.CutPrefix(o.FilterId, filterPrefix)
	if !isOurs {
		return nil, false
	}
	c := construct{event: event}
	if o.Condition != "" {
		var err error
		if c.at, err = parsePlace(event, o.Condition); err != nil {
			return &godap.Breakpoint{Message: err.Error()}, true
		}
	}
	c = b.assignID(c)
	b.checked = append(b.checked, c)
	return &godap.Breakpoint{Id: c.id, Message: "it will be set at the next stop"}, true
}

// addInstructions adds the breakpoints on constructs to the client's instruction breakpoints.
func (b *breaks) addInstructions(q *asked, text []byte) []byte {
	at, _ := findValue(text, "arguments", "breakpoints")
	b.client = nil
	for _, element := range findItems(text, at) {
		b.client = append(b.client, element.slice(text))
	}
	b.update()
	return text
}

// update makes the debugger set the breakpoints at the current stop, or at the next. The caller holds mu.
func (b *breaks) update() {
	b.stale = b.stale || len(b.functions)+len(b.checked)+len(b.set) > 0
	if s := b.p.stop; s != nil && s.isOver() && b.stale {
		b.p.spawn(func() { b.apply(s) })
	}
}

// apply makes the debugger set the breakpoints on constructs.
func (b *breaks) apply(s *stop) {
	b.p.mu.Lock()
	wanted := append(append([]construct(nil), b.functions...), b.checked...)
	needed := b.stale && b.p.stop == s && b.p.can["supportsInstructionBreakpoints"] &&
		len(wanted)+len(b.set) > 0
	b.stale = b.stale && !needed
	all := append([]json.RawMessage(nil), b.client...)
	b.p.mu.Unlock()
	if !needed {
		return
	}
	found, err := b.locations(s, len(wanted) > 0)
	var of []construct
	for _, c := range wanted {
		addresses, why := sites(found, c)
		if err != nil {
			why = err.Error()
		}
		for _, a := range addresses {
			all = append(all, encode(godap.InstructionBreakpoint{
				InstructionReference: a.String(), Condition: c.when.Condition, HitCondition: c.when.HitCondition,
			}))
			of = append(of, c)
		}
		if len(addresses) == 0 {
			b.p.client.sendEvent("breakpoint", godap.BreakpointEventBody{
				Reason: "changed", Breakpoint: godap.Breakpoint{Id: c.id, Message: why},
			})
		}
	}
	if err == nil && len(wanted) > 0 && (found == nil || len(found.Locations) == 0) {
		b.retry()
	}
	if all == nil {
		all = []json.RawMessage{}
	}
	text, err := b.p.call(s.ctx, "setInstructionBreakpoints", map[string]any{"breakpoints": all})
	if err != nil {
		b.p.client.print(console, "breakpoints on OpenMP's constructs: "+err.Error())
		return
	}
	b.note(text, of)
}

// retry makes the debugger set the breakpoints at the next stop again: the program has no runtime yet, or one
// that was not called.
func (b *breaks) retry() {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.stale = true
}

// note records the numbers that the debugger gave the last of its instruction breakpoints.
func (b *breaks) note(text []byte, of []construct) {
	at, _ := findValue(text, "body", "breakpoints")
	list := decodeAt[[]godap.Breakpoint](text, at)
	if len(list) < len(of) {
		return
	}
	list = list[len(list)-len(of):]
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.set = map[int][]construct{}
	told := map[int]bool{}
	for i, c := range of {
		b.set[list[i].Id] = append(b.set[list[i].Id], c)
		if told[c.id] { // an event may have several addresses
			continue
		}
		told[c.id] = true
		now := list[i]
		now.Id = c.id
		b.p.client.sendEvent("breakpoint", godap.BreakpointEventBody{Reason: "changed", Breakpoint: now})
	}
}

// locations returns the addresses at which runtimes pass the events.
func (b *breaks) locations(s *stop, wanted bool) (*picture.Breakpoints, error) {
	if !wanted {
		return nil, nil
	}
	b.p.looking.Lock()
	defer b.p.looking.Unlock()
	t, err := b.p.open(s.ctx, s)
	if err != nil {
		return nil, err
	}
	return requestBreakpoints(s.ctx, t)
}

// requestBreakpoints asks a target for the breakpoint locations of its runtimes.
func requestBreakpoints(ctx context.Context, t *engine.Target) (*picture.Breakpoints, error) {
	q := engine.Query{Breakpoints: true, Parts: picture.Parts{}, Budget: engine.DefaultBudget}
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.Breakpoints, answer.Close()
}

// sites returns the addresses that an event passes, or the reason why they are missing. In GNU's runtime an
// event is represented by a function that the program calls, and GCC gives these calls no line of the
// construct.
func sites(found *picture.Breakpoints, c construct) (addresses []picture.Hex, why string) {
	why = "the program has no OpenMP runtime yet"
	if found == nil {
		return nil, why
	}
	name := "ompd_bp_" + strings.ReplaceAll(c.event, " ", "_")
	for _, l := range found.Locations {
		switch {
		case l.Name != name:
		case l.Source == "equivalent" && c.at != nil:
			why = "GCC's debug information does not link calls of GNU's runtime to constructs: leave out the place"
		case len(l.Sites) > 0:
			addresses = append(addresses, l.Sites...)
		case l.Active && l.Address != nil:
			addresses = append(addresses, *l.Address)
		case l.Error != "":
			why = l.Error
		case l.Address != nil:
			why = "threads come there only in programs that were started with OMP_DEBUG=enabled"
		}
	}
	return addresses, why
}

// hitText returns the events of a stop; "" without any.
func (b *breaks) hitText(ids []int) string {
	for _, id := range ids {
		for _, c := range b.set[id] {
			return "OpenMP " + c.event
		}
	}
	return ""
}
