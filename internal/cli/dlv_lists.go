package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// enrich adds OpenMP's state to a list of goroutines or threads, and selects and groups goroutines by it.
func enrich(asked askedDelve, result map[string]json.RawMessage, pic *picture.Picture) {
	key, add := "Threads", nameThread
	if asked.method == listGoroutines {
		key, add = "Goroutines", labelGoroutine
	}
	var list []map[string]json.RawMessage
	if decodeDelve(result[key], &list) != nil {
		return
	}
	names := dap.ThreadNames(pic)
	for _, one := range list {
		add(one, names, pic)
	}
	if asked.own != nil {
		list = asked.own.group(asked.own.choose(list), result)
	}
	if text, err := json.Marshal(list); err == nil {
		result[key] = text
	}
}

// Values of api.GoroutineField of Delve's service.
const goroutineLabel = 5

// ownLabels is the part of a request for goroutines that depends on labels which Delve does not know, because this
// proxy adds them to its answer. Delve pages before it selects and groups, and so does the proxy.
type ownLabels struct {
	filters []goroutineFilter
	grouped bool
	groupBy goroutineGroups
}

// goroutineFilter is api.ListGoroutinesFilter of Delve. The argument of a label is its name, or NAME=VALUE.
type goroutineFilter struct {
	Kind    int
	Negated bool
	Arg     string
}

// goroutineGroups is api.GoroutineGroupingOptions of Delve.
type goroutineGroups struct {
	GroupBy                    int
	GroupByKey                 string
	MaxGroupMembers, MaxGroups int
}

// isOwnLabel reports whether the proxy adds the label that a filter or a group names.
func isOwnLabel(kind int, arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return kind == goroutineLabel && (name == "omp" || strings.HasPrefix(name, "omp."))
}

// takeOwnLabels returns the part of a request for goroutines that depends on labels of this proxy, and the request
// without it. It returns nil and the request if nothing does.
func takeOwnLabels(request json.RawMessage) (*ownLabels, json.RawMessage) {
	var whole map[string]json.RawMessage
	var all []map[string]json.RawMessage
	if decodeDelve(request, &whole) != nil || decodeDelve(whole["params"], &all) != nil || len(all) == 0 {
		return nil, request
	}
	var p struct {
		Filters []goroutineFilter
		goroutineGroups
	}
	text, err := json.Marshal(all[0])
	if err != nil || decodeDelve(text, &p) != nil {
		return nil, request
	}
	own := &ownLabels{grouped: isOwnLabel(p.GroupBy, p.GroupByKey), groupBy: p.goroutineGroups}
	var left []goroutineFilter
	for _, f := range p.Filters {
		if isOwnLabel(f.Kind, f.Arg) {
			own.filters = append(own.filters, f)
		} else {
			left = append(left, f)
		}
	}
	if len(own.filters) == 0 && !own.grouped {
		return nil, request
	}
	for name := range all[0] { // names of members are read without regard to case
		if strings.EqualFold(name, "Filters") || own.grouped && strings.EqualFold(name, "GroupBy") {
			delete(all[0], name)
		}
	}
	if all[0]["Filters"], err = json.Marshal(left); err != nil {
		return nil, request
	}
	if whole["params"], err = json.Marshal(all); err != nil {
		return nil, request
	}
	if text, err = json.Marshal(whole); err != nil {
		return nil, request
	}
	return own, text
}

// labelsOf returns the labels of a goroutine.
func labelsOf(g map[string]json.RawMessage) map[string]string {
	labels := map[string]string{}
	if json.Unmarshal(g["labels"], &labels) != nil || labels == nil {
		return map[string]string{}
	}
	return labels
}

// choose returns the goroutines that all filters match.
func (o *ownLabels) choose(list []map[string]json.RawMessage) []map[string]json.RawMessage {
	return slices.DeleteFunc(list, func(g map[string]json.RawMessage) bool {
		labels := labelsOf(g)
		return slices.ContainsFunc(o.filters, func(f goroutineFilter) bool {
			name, value, exact := strings.Cut(f.Arg, "=")
			has, known := labels[name]
			return (known && (!exact || has == value)) == f.Negated
		})
	})
}

// group returns the goroutines in the order of their groups, each group with at most the number of members that the
// request allows, and adds the groups to the result.
func (o *ownLabels) group(list []map[string]json.RawMessage, result map[string]json.RawMessage) (
	out []map[string]json.RawMessage) {
	if !o.grouped {
		return list
	}
	members := map[string][]map[string]json.RawMessage{}
	for _, g := range list {
		name := o.groupBy.GroupByKey + "=" + labelsOf(g)[o.groupBy.GroupByKey]
		members[name] = append(members[name], g)
	}
	type group struct {
		Name                 string
		Offset, Count, Total int
	}
	groups := []group{}
	tooMany := false
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if tooMany = o.groupBy.MaxGroups > 0 && len(groups) == o.groupBy.MaxGroups; tooMany {
			break
		}
		shown := members[name][:min(len(members[name]), max(o.groupBy.MaxGroupMembers, 0))]
		groups = append(groups, group{name, len(out), len(shown), len(members[name])})
		out = append(out, shown...)
	}
	text, err := json.Marshal(groups)
	if err == nil {
		result["Groups"] = text
	}
	result["TooManyGroups"] = json.RawMessage(strconv.FormatBool(tooMany))
	return out
}

// intField returns a number of a JSON object; 0 if it is missing.
func intField(o map[string]json.RawMessage, name string) (n int) {
	_ = json.Unmarshal(o[name], &n)
	return n
}

// labelGoroutine adds labels with the team and number of its thread to a goroutine.
func labelGoroutine(g map[string]json.RawMessage, names map[int]string, pic *picture.Picture) {
	id := intField(g, "id")
	for _, t := range pic.Threads {
		if t.Goroutine != int64(id) || id == 0 || t.Role == picture.RoleNone {
			continue
		}
		labels := labelsOf(g)
		labels["omp"] = names[t.LWP]
		if t.ThreadNum != nil && t.TeamSize != nil {
			labels["omp.team"] = fmt.Sprintf("%d/%d", *t.ThreadNum, *t.TeamSize)
		}
		if t.Region != "" {
			labels["omp.region"] = string(t.Region)
		}
		if t.State != nil {
			labels["omp.state"] = string(t.State.Name)
		}
		if text, err := json.Marshal(labels); err == nil {
			g["labels"] = text
		}
	}
}

// nameThread adds the OpenMP name of a thread to the function that Delve shows for it.
func nameThread(th map[string]json.RawMessage, names map[int]string, _ *picture.Picture) {
	name := names[intField(th, "id")]
	if !strings.HasPrefix(name, "OMP ") {
		return
	}
	function := map[string]json.RawMessage{}
	_ = json.Unmarshal(th["function"], &function)
	if function == nil {
		function = map[string]json.RawMessage{}
	}
	var former string
	_ = json.Unmarshal(function["name"], &former)
	text, err1 := json.Marshal(strings.TrimSpace(former + " [" + name + "]"))
	function["name"] = text
	whole, err2 := json.Marshal(function)
	if err1 == nil && err2 == nil {
		th["function"] = whole
	}
}
