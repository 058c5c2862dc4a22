package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// parts has, for each verb, the keys that its JSON must have.
var parts = map[string][]string{
	"report":  {"target", "runtimes", "threads", "regions", "tasks", "stacks"},
	"threads": {"target", "runtimes", "threads", "regions"},
	"regions": {"target", "runtimes", "regions"},
	"tasks":   {"target", "runtimes", "tasks"},
	"icvs":    {"target", "runtimes", "icvs"},
	"stacks":  {"target", "runtimes", "threads", "stacks"},
	"layout":  {"target", "runtimes", "layout"},
	"doctor":  {"target", "runtimes", "checks"},
}

// TestSchemaOfEveryVerb runs every verb on every program and validates its JSON against the schema.
func TestSchemaOfEveryVerb(t *testing.T) {
	few := map[string]bool{"nested": true, "tasks_deps": true, "crash_task": true, "hidden_helper": true,
		"serialized_nested": true}
	for _, major := range []int{14, 15, 16, 19} {
		for _, s := range e2e.Situations {
			if major != 16 && !few[s.Program] {
				continue
			}
			t.Run(fmt.Sprintf("%s/libomp-%d", s.Program, major), func(t *testing.T) {
				t.Parallel()
				run := omptest.Run{
					Exe:     omptest.Compile(t, omptest.Build{Program: s.Program}),
					Runtime: omptest.RuntimeOf(t, major), Args: s.Args, Mode: omptest.Kernel,
				}
				if s.Segv {
					run.Mode = omptest.Segv
				}
				checkVerbs(t, omptest.Dump(t, run).Core, s.Program != "crash_before")
			})
		}
	}
}

// checkVerbs runs every verb on core. openmp is set if the program has a runtime and has used it.
func checkVerbs(t *testing.T, core string, openmp bool) {
	for verb, keys := range parts {
		a := e2e.OutputInTime(t, verb, "--json", core)
		if a.Status != cli.ExitOK || a.Errs != "" {
			t.Errorf("%s: exit status %d: %s", verb, a.Status, a.Errs)
			continue
		}
		omptest.Validate(t, "picture", []byte(a.Stdout))
		top := topKeys(t, a.Stdout)
		for _, k := range keys {
			if openmp && !top[k] {
				t.Errorf("%s: no %s", verb, k)
			}
		}
		if native := strings.Contains(a.Stdout, `"stack": [`); native != top["threads"] {
			t.Errorf("%s: native stacks: %v", verb, native)
		}
		checkAbsent(t, verb, a.Stdout)
	}
}

// topKeys returns the keys of the outermost object.
func topKeys(t *testing.T, text string) map[string]bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for k := range v.(map[string]any) {
		keys[k] = true
	}
	return keys
}

// checkAbsent requires that absent values are missing from the JSON: never null, an address of 0 or an empty
// name.
func checkAbsent(t *testing.T, verb, text string) {
	t.Helper()
	for _, bad := range []string{"null", `"0x0"`, `"pthread": 0`, `"address": ""`, `"id": ""`, `"lwp": 0`, `"task": ""`,
		`"region": ""`} {
		if strings.Contains(text, ": "+bad) || strings.Contains(text, bad) && bad != "null" {
			t.Errorf("%s: JSON has %s", verb, bad)
		}
	}
}
