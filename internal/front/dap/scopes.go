package dap

import (
	"context"
	"fmt"
	"slices"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// errOld returns the error for a number that is not one of the current snapshot.
func errOld(what string, id int) error {
	return fmt.Errorf("there is no %s %d: it may be from an earlier snapshot", what, id)
}

// scopes returns the scopes of a frame and of its thread. Scopes without content are left out.
func (a *adapter) scopes(_ context.Context, args godap.ScopesArguments) (body godap.ScopesResponseBody, err error) {
	f := a.view.shown[args.FrameId]
	if f == nil {
		return body, errOld("frame", args.FrameId)
	}
	body.Scopes = []godap.Scope{}
	before, after := a.localScopes(f)
	for _, s := range slices.Concat(before, a.view.threadScopes(f.thread), after) {
		body.Scopes = append(body.Scopes, godap.Scope{
			Name: s.name, VariablesReference: a.view.refer(s), PresentationHint: s.kind,
		})
	}
	return body, nil
}

// threadScopes returns the scopes that all frames of a thread have.
func (v *view) threadScopes(t *thread) []node {
	var out []node
	add := func(name string, parts []node) {
		if len(parts) > 0 {
			out = append(out, node{name: name, parts: fixedParts(parts)})
		}
	}
	name := "Thread"
	if t.Role != picture.RoleNone {
		name = "OpenMP thread"
	}
	add(name, fields(t.Thread, omp, "stack", "user_stack", "loop", "target"))
	if i := v.regionIndex(t.Region); i >= 0 {
		add("Region", v.region(i))
	}
	if i := v.taskIndex(t.Task); i >= 0 {
		add("Task", v.task(i))
	}
	add("ICVs", v.icvs(t))
	add("Locks", v.locks(t))
	if t.Loop != nil {
		add("Loop", fields(t.Loop, ""))
	}
	if t.Target != nil {
		add("Target construct", fields(t.Target, ""))
	}
	if f := v.pic.Facts; f != nil && v.recorded != nil &&
		slices.ContainsFunc(f.Recorded, func(r picture.Recorded) bool { return r.Thread == t.LWP }) {
		out = append(out, node{name: "Last events", parts: func() ([]node, error) { return v.events(t.LWP), nil }})
	}
	return out
}

// eventsShown is the number of shown events of a thread.
const eventsShown = 50

// events returns the last events of a thread, the newest first, by their time before now, or before the newest
// event of a core.
func (v *view) events(lwp int) []node {
	list, err := v.recorded(lwp, eventsShown)
	if err != nil {
		return []node{{name: "not shown", value: err.Error()}}
	}
	out := make([]node, len(list))
	for i := range list {
		e := &list[i]
		value := e.Text
		if e.Frame != nil {
			value += " in " + frameText(*e.Frame)
		}
		ago := trace.Elapsed(time.Duration(e.Ago))
		out[i] = node{name: fmt.Sprintf("[%d] -%v", i, ago), value: value, typ: e.Name,
			parts: fixedParts(fields(e, ""))}
	}
	return out
}

// regionIndex returns the index of the region with an ID, or -1.
func (v *view) regionIndex(id picture.ID) int {
	return slices.IndexFunc(v.pic.Regions, func(r picture.Region) bool { return r.ID == id && id != "" })
}

// taskIndex returns the index of the task with an ID, or -1.
func (v *view) taskIndex(id picture.ID) int {
	return slices.IndexFunc(v.pic.Tasks, func(t picture.Task) bool { return t.ID == id && id != "" })
}

// region returns the members of a region, including the enclosing region.
func (v *view) region(i int) []node {
	r := &v.pic.Regions[i]
	out := fields(r, "")
	if at := v.regionIndex(r.Parent); at >= 0 {
		v.link(out, "parent", func() []node { return v.region(at) })
	}
	return out
}

// task returns the members of a task, including the task that generated it.
func (v *view) task(i int) []node {
	t := &v.pic.Tasks[i]
	out := fields(t, "")
	if at := v.taskIndex(t.Parent); at >= 0 {
		v.link(out, "parent", func() []node { return v.task(at) })
	}
	return out
}

// link sets the parts of the member that names another item.
func (v *view) link(parts []node, name string, to func() []node) {
	for i := range parts {
		if parts[i].name == name {
			parts[i].parts = func() ([]node, error) { return to(), nil }
		}
	}
}

// icvs returns the internal control variables that apply to a thread, each from the innermost scope that has
// it.
func (v *view) icvs(t *thread) []node {
	at := map[string]int{}
	var out []node
	for _, c := range v.pic.ICVs {
		other := c.Thread != 0 && c.Thread != t.LWP || c.Region != "" && c.Region != t.Region ||
			c.Task != "" && c.Task != t.Task || c.Runtime != "" && t.Runtime != "" && c.Runtime != t.Runtime
		if other || t.Runtime == "" {
			continue
		}
		n := node{name: c.Name, value: c.Value, typ: c.Scope, parts: fixedParts(fields(c, ""))}
		if c.Error != "" {
			n.value = "not known: " + c.Error
		}
		if i, ok := at[c.Name]; ok {
			out[i] = n
			continue
		}
		at[c.Name] = len(out)
		out = append(out, n)
	}
	return out
}

// locks returns the lock that a thread waits for, and the locks it holds that threads wait for.
func (v *view) locks(t *thread) (out []node) {
	if v.pic.Facts == nil || t.LWP == 0 {
		return nil
	}
	named := map[picture.ID]string{}
	for _, w := range v.pic.Facts.Waits {
		if w.Lock != "" && w.Name != "" {
			named[w.Lock] = w.Name
		}
		if w.Thread == t.LWP {
			out = append(out, node{name: "waits for", value: waitText(w), parts: fixedParts(fields(w, ""))})
		}
	}
	for _, l := range v.pic.Facts.Locks {
		h, holds := findHolder(l, t.LWP)
		if !holds {
			continue
		}
		value := named[l.ID]
		if h.Certainty != "" {
			value += fmt.Sprintf(" (%s)", h.Certainty)
		}
		if h.AcquiredAt != nil {
			value += " acquired in " + frameText(*h.AcquiredAt)
		}
		out = append(out, node{name: "holds", value: value, parts: fixedParts(fields(l, ""))})
	}
	return out
}

// findHolder returns the entry of a thread in the holders of a lock, if it is one.
func findHolder(l picture.Lock, lwp int) (picture.Holder, bool) {
	for _, h := range l.Holders {
		if h.Thread == lwp {
			return h, true
		}
	}
	return picture.Holder{}, l.Owner == lwp && lwp != 0
}

// waitText describes a thread's wait in one line.
func waitText(w picture.Wait) string {
	s := string(w.Kind)
	if w.Name != "" {
		s += " " + w.Name
	}
	if w.Address != nil {
		s += " " + w.Address.String()
	}
	if w.WaitOn != 0 {
		s += fmt.Sprintf(", of LWP %d", w.WaitOn)
	}
	return s
}

// maxVariables is the number of parts of a variable that a client gets at once.
const maxVariables = 10000

// variables returns the parts of a scope or a variable.
func (v *view) variables(
	_ context.Context, args godap.VariablesArguments,
) (body godap.VariablesResponseBody, err error) {
	n, ok := v.nodes[args.VariablesReference]
	if !ok {
		return body, errOld("variable", args.VariablesReference)
	}
	parts, err := n.parts()
	if err != nil {
		return body, err
	}
	if args.Filter == "indexed" && n.count == 0 || args.Filter == "named" && n.count > 0 {
		n.count, parts = 0, nil
	}
	if parts, err = n.selectParts(parts, max(args.Start, 0), args.Count); err != nil {
		return body, err
	}
	body.Variables = []godap.Variable{}
	for _, p := range parts {
		body.Variables = append(body.Variables, v.variable(p))
	}
	return body, nil
}

// selectParts returns count of the node's parts from a number on, of which the first ones are given; count 0 stands for
// all. If that is more than a client shows, it returns some, and a node for the others.
func (n *node) selectParts(parts []node, from, count int) ([]node, error) {
	all := max(n.count, len(parts))
	from = min(from, all)
	to := all
	if count > 0 {
		to = min(to, from+count)
	}
	to = min(to, from+maxVariables)
	if to <= len(parts) || n.page == nil {
		return parts[min(from, len(parts)):min(to, len(parts))], nil
	}
	if count > 0 {
		return n.page(from, to-from)
	}
	// A client that does not page gets the rest by a part of its own.
	rest := node{name: fmt.Sprintf("[%d..%d]", len(parts), all-1), value: fmt.Sprintf("%d more", all-len(parts))}
	rest.parts = n.restAfter(len(parts), all)
	return append(slices.Clone(parts), rest), nil
}

// restAfter returns a function that returns the parts from a number on, up to maxElements, and a node
// for those after them.
func (n *node) restAfter(from, all int) func() ([]node, error) {
	return func() ([]node, error) {
		to := min(from+maxElements, all)
		list, err := n.page(from, to-from)
		if err == nil && to < all {
			list = append(list, node{name: fmt.Sprintf("[%d..%d]", to, all-1), value: fmt.Sprintf("%d more", all-to),
				parts: n.restAfter(to, all)})
		}
		return list, err
	}
}
