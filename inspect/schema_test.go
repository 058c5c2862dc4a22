package inspect

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// schemaOf maps the types of the picture to the names of their definitions.
var schemaOf = map[reflect.Type]string{
	reflect.TypeFor[Target](): "target", reflect.TypeFor[Place](): "place", reflect.TypeFor[Runtime](): "runtime",
	reflect.TypeFor[Loop]():   "loop",
	reflect.TypeFor[Thread](): "thread", reflect.TypeFor[LevelInfo](): "level", reflect.TypeFor[State](): "state",
	reflect.TypeFor[Frame](): "frame", reflect.TypeFor[Region](): "region", reflect.TypeFor[Code](): "code",
	reflect.TypeFor[Task](): "task", reflect.TypeFor[ICV](): "icv", reflect.TypeFor[ControlVar](): "control_var",
	reflect.TypeFor[MergedStack](): "merged_stack", reflect.TypeFor[LayoutEntry](): "layout_entry",
	reflect.TypeFor[Claim](): "claim", reflect.TypeFor[Pause](): "pause", reflect.TypeFor[Check](): "check",
	reflect.TypeFor[Verdict](): "verdict", reflect.TypeFor[CycleStep](): "cycle_step", reflect.TypeFor[WaitTarget](): "wait_target",
	reflect.TypeFor[ThreadSpot](): "thread_spot", reflect.TypeFor[MissingThread](): "missing_thread",
}

type schema struct {
	Required   []string          `json:"required"`
	Properties map[string]any    `json:"properties"`
	Defs       map[string]schema `json:"$defs"`
}

// TestSchema holds the JSON schema against the types: the same names, and
// required exactly where the type has no omitempty.
func TestSchema(t *testing.T) {
	b, err := os.ReadFile("../proto/picture.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	compare(t, "Picture", s, reflect.TypeFor[Picture]())
	for typ, def := range schemaOf {
		d, ok := s.Defs[def]
		if !ok {
			t.Errorf("the schema has no definition %s", def)
			continue
		}
		compare(t, typ.Name(), d, typ)
	}
	if !strings.Contains(string(b), `"const": "`+Schema+`"`) {
		t.Errorf("the schema is not of version %s", Schema)
	}
}

func compare(t *testing.T, name string, s schema, typ reflect.Type) {
	t.Helper()
	fields := map[string]bool{}
	for f := range typ.Fields() {
		if !f.IsExported() {
			continue
		}
		tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[tag] = true
		if _, ok := s.Properties[tag]; !ok {
			t.Errorf("%s: the schema has no property %s", name, tag)
		}
		if want := opts != "omitempty"; slices.Contains(s.Required, tag) != want {
			t.Errorf("%s.%s: required is %v in the schema, %v in the type", name, tag, !want, want)
		}
	}
	for p := range s.Properties {
		if !fields[p] {
			t.Errorf("%s: property %s of the schema is not in the type", name, p)
		}
	}
	if len(fields) < 2 {
		t.Errorf("%s has only %d fields", name, len(fields))
	}
}
