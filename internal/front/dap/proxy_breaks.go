package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// breaks are the breakpoints on constructs: they are set by the debugger as breakpoints at instructions, beside
// those that the client sets there itself.
type breaks struct {
	p         *proxy
	filters   bool                // the debugger has filters of its own
	functions []construct         // asked for by name
	checked   []construct         // asked for by filters
	client    []json.RawMessage   // the client's own breakpoints at instructions
	stale     bool                // they are to be set, anew or for the first time
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

// constructEvents are the events, by the names of the standard.
func constructEvents() []string {
	return []string{"parallel begin", "parallel end", "task begin", "task end", "thread begin", "thread end"}
}

// when says when the debugger is to stop there, as it understands it.
type when struct {
	Condition    string `json:"condition"`
	HitCondition string `json:"hitCondition"`
}

// filterPrefix begins the names of filters that are constructs.
const filterPrefix = "ompd/"

// constructFilters offers the events as filters.
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

// parseConstruct reads the name of a breakpoint: "omp parallel", "omp task end at solve.c:31". The error says what it
// should be.
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
		return c, true, fmt.Errorf("%s: it is omp parallel, task or thread, with begin or end, and at FILE:LINE", name)
	}
	if placed {
		c.at, err = parsePlace(c.event, where)
	}
	return c, true, err
}

// errNoInstructions says why there are no breakpoints on constructs.
var errNoInstructions = errors.New("the debugger sets no breakpoints at instructions, as those on constructs are")

// request takes what is about constructs out of a request that sets breakpoints, and puts it into the answer.
// nil says that nothing is left for the debugger, and the request is answered. The caller holds mu.
func (b *breaks) request(q *asked, text []byte) []byte {
	switch q.Command {
	case "setInstructionBreakpoints":
		return b.instructions(q, text)
	case "setExceptionBreakpoints":
		return b.filtered(q, text)
	}
	at, _ := within(text, "arguments", "breakpoints")
	list := items(text, at)
	var left [][]byte
	ours := make([]*godap.Breakpoint, len(list))
	b.functions = nil
	for i, element := range list {
		name := valueOf[string](text, members(text, element)["name"])
		c, isOurs, err := parseConstruct(name)
		if !isOurs {
			left = append(left, element.of(text))
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
		c = b.numbered(c)
		c.when = valueOf[when](text, element)
		b.functions = append(b.functions, c)
		ours[i].Id, ours[i].Message = c.id, "it is set when the program stops with its OpenMP runtime loaded"
	}
	b.changed()
	if !b.p.can["supportsFunctionBreakpoints"] {
		for i := range ours {
			if ours[i] == nil {
				ours[i] = &godap.Breakpoint{Message: "the debugger has no breakpoints on functions"}
			}
		}
		body := godap.SetFunctionBreakpointsResponseBody{Breakpoints: plainList(ours)}
		b.p.client.respond(q.Seq, q.Command, body, nil)
		return nil
	}
	if len(left) == len(list) {
		return text
	}
	q.answer = func(text []byte, body span) []edit { return merged(text, body, ours) }
	return edited(text, []edit{{at, listed(left)}})
}

// plainList is a list without gaps.
func plainList(list []*godap.Breakpoint) []godap.Breakpoint {
	out := make([]godap.Breakpoint, len(list))
	for i, b := range list {
		out[i] = *b
	}
	return out
}

// merged puts breakpoints of the proxy's where the client asked for them.
func merged(text []byte, body span, ours []*godap.Breakpoint) []edit {
	at, ok := members(text, body)["breakpoints"]
	list := items(text, at)
	if !ok {
		return nil
	}
	theirs := came(text, list)
	var all []element
	for _, b := range ours {
		switch {
		case b != nil:
			all = append(all, addition(b))
		case len(theirs) > 0:
			all, theirs = append(all, theirs[0]), theirs[1:]
		}
	}
	return []edit{relisted(text, at, list, all)}
}

// numbered gives a breakpoint the number by which the client knows it.
func (b *breaks) numbered(c construct) construct {
	b.last++
	c.id = ownIDs + b.last
	return c
}

// filtered takes filters of constructs out of a request: those by name, and those with a condition, which is a place.
func (b *breaks) filtered(q *asked, text []byte) []byte {
	var edits []edit
	var ours []*godap.Breakpoint
	b.checked = nil
	for _, key := range []string{"filters", "filterOptions"} {
		at, _ := within(text, "arguments", key)
		var left [][]byte
		list := items(text, at)
		for _, e := range list {
			option := godap.ExceptionFilterOptions{FilterId: valueOf[string](text, e)}
			if key == "filterOptions" {
				option = valueOf[godap.ExceptionFilterOptions](text, e)
			}
			one, isOurs := b.filter(option)
			if ours = append(ours, one); !isOurs {
				left = append(left, e.of(text))
			}
		}
		if len(left) < len(list) {
			edits = append(edits, edit{at, listed(left)})
		}
	}
	b.changed()
	if !b.filters && b.p.can["supportsInstructionBreakpoints"] {
		b.p.client.respond(q.Seq, q.Command, nil, nil) // the debugger has none: it may not know the request
		return nil
	}
	if len(edits) == 0 {
		return text
	}
	q.answer = func(text []byte, body span) []edit { return merged(text, body, ours) }
	return edited(text, edits)
}

// filter takes a filter of a construct, and reports whether it is one.
func (b *breaks) filter(o godap.ExceptionFilterOptions) (*godap.Breakpoint, bool) {
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
	c = b.numbered(c)
	b.checked = append(b.checked, c)
	return &godap.Breakpoint{Id: c.id, Message: "it is set at the next stop"}, true
}

// instructions adds the breakpoints on constructs to those that the client sets at instructions.
func (b *breaks) instructions(q *asked, text []byte) []byte {
	at, _ := within(text, "arguments", "breakpoints")
	b.client = nil
	for _, element := range items(text, at) {
		b.client = append(b.client, element.of(text))
	}
	b.changed()
	return text
}

// changed has the breakpoints set at the present stop, or at the next. The caller holds mu.
func (b *breaks) changed() {
	b.stale = b.stale || len(b.functions)+len(b.checked)+len(b.set) > 0
	if s := b.p.stop; s != nil && s.over() && b.stale {
		b.p.begin(func() { b.apply(s) })
	}
}

// apply has the debugger set the breakpoints on constructs.
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
			all = append(all, encoded(godap.InstructionBreakpoint{
				InstructionReference: a.String(), Condition: c.when.Condition, HitCondition: c.when.HitCondition,
			}))
			of = append(of, c)
		}
		if len(addresses) == 0 {
			b.p.client.tell("breakpoint", godap.BreakpointEventBody{
				Reason: "changed", Breakpoint: godap.Breakpoint{Id: c.id, Message: why},
			})
		}
	}
	if err == nil && len(wanted) > 0 && (found == nil || len(found.Locations) == 0) {
		b.later()
	}
	if all == nil {
		all = []json.RawMessage{}
	}
	text, err := b.p.call(s.ctx, "setInstructionBreakpoints", map[string]any{"breakpoints": all})
	if err != nil {
		b.p.client.say(console, "breakpoints on OpenMP's constructs: "+err.Error())
		return
	}
	b.note(text, of)
}

// later has the breakpoints set at the next stop, too: the program has no runtime yet, or one that was not called.
func (b *breaks) later() {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.stale = true
}

// note notes the numbers that the debugger gave the last of its breakpoints at instructions.
func (b *breaks) note(text []byte, of []construct) {
	at, _ := within(text, "body", "breakpoints")
	list := valueOf[[]godap.Breakpoint](text, at)
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
		if told[c.id] { // an event may pass several places
			continue
		}
		told[c.id] = true
		now := list[i]
		now.Id = c.id
		b.p.client.tell("breakpoint", godap.BreakpointEventBody{Reason: "changed", Breakpoint: now})
	}
}

// locations are where runtimes pass the events.
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
	return breakpointsOf(s.ctx, t)
}

// breakpointsOf asks a target where its runtimes can be stopped.
func breakpointsOf(ctx context.Context, t *session.Target) (*picture.Breakpoints, error) {
	q := session.Question{Breakpoints: true, Parts: inspect.Parts{}, Budget: session.DefaultBudget}
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.Breakpoints, answer.Close()
}

// sites are the addresses that an event passes, and why there are none. What stands for an event in GNU's runtime is a
// function that the program calls, and GCC gives these calls no line of the construct.
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
			why = "GCC's debug information does not tell which construct calls GNU's runtime: leave the place out"
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

// hitText says which events a stop is at; empty for none.
func (b *breaks) hitText(ids []int) string {
	for _, id := range ids {
		for _, c := range b.set[id] {
			return "OpenMP " + c.event
		}
	}
	return ""
}
