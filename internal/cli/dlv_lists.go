package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// enrich adds OpenMP's state to a list of goroutines or threads.
func enrich(method string, result map[string]json.RawMessage, pic *picture.Picture) {
	key, add := "Threads", nameThread
	if method == listGoroutines {
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
	if text, err := json.Marshal(list); err == nil {
		result[key] = text
	}
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
		labels := map[string]string{}
		_ = json.Unmarshal(g["labels"], &labels)
		if labels == nil {
			labels = map[string]string{}
		}
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
