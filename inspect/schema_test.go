package inspect

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/watch"
)

// schemaOf maps the types of the picture to the names of their definitions.
var schemaOf = map[reflect.Type]string{
	reflect.TypeFor[picture.Target](): "target", reflect.TypeFor[picture.Place](): "place",
	reflect.TypeFor[picture.Runtime](): "runtime",
	reflect.TypeFor[picture.Loop]():    "loop",
	reflect.TypeFor[picture.Rank]():    "rank", reflect.TypeFor[picture.MPICall](): "mpi_call",
	reflect.TypeFor[picture.Thread](): "thread", reflect.TypeFor[picture.LevelInfo](): "level",
	reflect.TypeFor[picture.State](): "state",
	reflect.TypeFor[picture.Frame](): "frame", reflect.TypeFor[picture.Region](): "region",
	reflect.TypeFor[picture.Code](): "code",
	reflect.TypeFor[picture.Task](): "task", reflect.TypeFor[picture.ICV](): "icv",
	reflect.TypeFor[picture.ControlVar]():  "control_var",
	reflect.TypeFor[picture.MergedStack](): "merged_stack", reflect.TypeFor[picture.LayoutEntry](): "layout_entry",
	reflect.TypeFor[picture.Claim](): "claim", reflect.TypeFor[picture.Pause](): "pause",
	reflect.TypeFor[picture.Standstill](): "standstill", reflect.TypeFor[picture.Spin](): "spin",
	reflect.TypeFor[picture.Check]():   "check",
	reflect.TypeFor[picture.Verdict](): "verdict", reflect.TypeFor[picture.CycleStep](): "cycle_step",
	reflect.TypeFor[picture.WaitTarget](): "wait_target",
	reflect.TypeFor[picture.ThreadSpot](): "thread_spot", reflect.TypeFor[picture.MissingThread](): "missing_thread",
	reflect.TypeFor[picture.Facts]():         "facts",
	reflect.TypeFor[picture.Wait]():          "wait",
	reflect.TypeFor[picture.Awaited]():       "awaited",
	reflect.TypeFor[picture.Lock]():          "lock",
	reflect.TypeFor[picture.Holder]():        "holder",
	reflect.TypeFor[picture.Leave]():         "leave",
	reflect.TypeFor[picture.Candidates]():    "candidates",
	reflect.TypeFor[picture.Barrier]():       "barrier",
	reflect.TypeFor[picture.Misplaced]():     "misplaced",
	reflect.TypeFor[picture.Construct]():     "construct",
	reflect.TypeFor[picture.Lost]():          "lost",
	reflect.TypeFor[picture.Fork]():          "fork",
	reflect.TypeFor[picture.Setting]():       "setting",
	reflect.TypeFor[picture.Processors]():    "processors",
	reflect.TypeFor[picture.Mask]():          "mask",
	reflect.TypeFor[picture.Quota]():         "quota",
	reflect.TypeFor[picture.Cpuset]():        "cpuset",
	reflect.TypeFor[picture.Variable]():      "variable",
	reflect.TypeFor[picture.Fault]():         "fault",
	reflect.TypeFor[picture.FaultStack]():    "fault_stack",
	reflect.TypeFor[picture.Nearby]():        "nearby",
	reflect.TypeFor[picture.Mapping]():       "mapping",
	reflect.TypeFor[picture.Abort]():         "abort",
	reflect.TypeFor[picture.Exception]():     "exception",
	reflect.TypeFor[picture.SignalHandler](): "signal_handler",
	reflect.TypeFor[picture.Thrown]():        "thrown",
	reflect.TypeFor[picture.Left]():          "left",
	reflect.TypeFor[picture.Callee]():        "callee",
	reflect.TypeFor[picture.Recorded]():      "recorded",
	reflect.TypeFor[picture.PastEvent]():     "past_event",
	reflect.TypeFor[picture.History]():       "history",
	reflect.TypeFor[picture.LockOrder]():     "lock_order",
	reflect.TypeFor[picture.LockStep]():      "lock_step",
	reflect.TypeFor[picture.Imbalance]():     "imbalance",
	reflect.TypeFor[picture.Contention]():    "contention",
	reflect.TypeFor[picture.TaskGrain]():     "task_grain",
	reflect.TypeFor[picture.Timeline]():      "timeline",
	reflect.TypeFor[picture.TimelineRow]():   "timeline_row",
	reflect.TypeFor[picture.TimelineSpan]():  "timeline_span",
	reflect.TypeFor[picture.Activity]():      "activity",
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
	compare(t, "Picture", s, reflect.TypeFor[picture.Picture]())
	for typ, def := range schemaOf {
		d, ok := s.Defs[def]
		if !ok {
			t.Errorf("the schema has no definition %s", def)
			continue
		}
		compare(t, typ.Name(), d, typ)
	}
	if !strings.Contains(string(b), `"const": "`+picture.Schema+`"`) {
		t.Errorf("the schema is not of version %s", picture.Schema)
	}
}

func compare(t *testing.T, name string, s schema, typ reflect.Type) {
	t.Helper()
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		if !f.IsExported() || f.Anonymous {
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

// TestOtherSchemas holds the JSON schemas beside that of the picture against
// their types.
func TestOtherSchemas(t *testing.T) {
	for _, s := range []struct {
		file, version string
		top           reflect.Type
		defs          map[string]reflect.Type
	}{
		{"ps", picture.ProcessSchema, reflect.TypeFor[picture.Processes](),
			map[string]reflect.Type{"process": reflect.TypeFor[picture.Process](),
				"runtime": reflect.TypeFor[picture.ProcessCode]()}},
		{"breakpoints", picture.BreakpointSchema, reflect.TypeFor[picture.Breakpoints](),
			map[string]reflect.Type{"location": reflect.TypeFor[picture.Breakpoint](),
				"entry": reflect.TypeFor[picture.BodyEntry]()}},
		{"watch", watch.Schema, reflect.TypeFor[watch.Look](), map[string]reflect.Type{
			"change": reflect.TypeFor[watch.Change](), "thread": reflect.TypeFor[watch.ThreadChange](),
			"turnover": reflect.TypeFor[watch.Turnover](), "recorded": reflect.TypeFor[watch.Recorded](),
		}},
	} {
		b, err := os.ReadFile("../proto/" + s.file + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		var doc schema
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		compare(t, s.file, doc, s.top)
		for name, typ := range s.defs {
			compare(t, s.file+" "+name, doc.Defs[name], typ)
		}
		if !strings.Contains(string(b), `"const": "`+s.version+`"`) || len(doc.Defs) != len(s.defs) {
			t.Errorf("%s: not version %s with %d definitions", s.file, s.version, len(s.defs))
		}
	}
}
