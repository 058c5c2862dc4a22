package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// schemaFile is the contract of the JSON form.
const schemaFile = "../../proto/picture.schema.json"

// compiled compiles the schema once.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("picture.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("picture.json")
})

// validate holds one JSON text against the schema.
func validate(tb testing.TB, text []byte) {
	tb.Helper()
	s, err := compiled()
	if err != nil {
		tb.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("%v in:\n%.300s", err, text)
	}
	if err := s.Validate(v); err != nil {
		tb.Errorf("%v", err)
	}
}

// parts has, for each verb, keys that its JSON must have; they are what it was
// asked for.
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

// TestSchemaOfEveryVerb runs every verb on every program and holds its JSON
// against the schema.
func TestSchemaOfEveryVerb(t *testing.T) {
	few := map[string]bool{"nested": true, "tasks_deps": true, "crash_task": true, "hidden_helper": true,
		"serialized_nested": true}
	for _, major := range []int{14, 15, 16, 19} {
		for _, s := range situations {
			if major != 16 && !few[s.program] {
				continue
			}
			t.Run(fmt.Sprintf("%s/libomp-%d", s.program, major), func(t *testing.T) {
				t.Parallel()
				run := omptest.Run{
					Exe:     omptest.Compile(t, omptest.Build{Program: s.program}),
					Runtime: omptest.RuntimeOf(t, major), Args: s.args, Mode: omptest.Kernel,
				}
				if s.segv {
					run.Mode = omptest.Segv
				}
				checkVerbs(t, omptest.Dump(t, run).Core, s.program != "crash_before")
			})
		}
	}
}

// checkVerbs runs every verb on core. openmp says that the program has a runtime
// which it has used.
func checkVerbs(t *testing.T, core string, openmp bool) {
	for verb, keys := range parts {
		a := inTime(t, verb, "--json", core)
		if a.status != cli.ExitOK || a.errs != "" {
			t.Errorf("%s: exit status %d: %s", verb, a.status, a.errs)
			continue
		}
		validate(t, []byte(a.stdout))
		top := topKeys(t, a.stdout)
		for _, k := range keys {
			if openmp && !top[k] {
				t.Errorf("%s: no %s", verb, k)
			}
		}
		if native := strings.Contains(a.stdout, `"stack": [`); native != top["threads"] {
			t.Errorf("%s: native stacks: %v", verb, native)
		}
		checkAbsent(t, verb, a.stdout)
	}
}

// topKeys are the keys of the outermost object.
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

// checkAbsent holds the JSON against the rule that what is absent is missing:
// never null, an address of 0 or an empty name.
func checkAbsent(t *testing.T, verb, text string) {
	t.Helper()
	for _, bad := range []string{"null", `"0x0"`, `"pthread": 0`, `"address": ""`, `"id": ""`, `"lwp": 0`, `"task": ""`,
		`"region": ""`} {
		if strings.Contains(text, ": "+bad) || strings.Contains(text, bad) && bad != "null" {
			t.Errorf("%s: JSON has %s", verb, bad)
		}
	}
}
