package cli

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// variable is a variable as an adapter shows it.
type variable struct{ typ, value string }

// shownFrame is a frame with the variables that an adapter shows, by path. A name may occur several times.
type shownFrame struct {
	lwp, pc string
	refused bool // the adapter has no answer for a scope
	values  map[string][]variable
}

// memberDepth is the number of levels of members that are compared.
const memberDepth = 2

// shownFrames returns the frames with variables of all threads, in the order of the adapter. lwps maps the adapter's
// numbers of threads to those of the system; without it they are equal.
func shownFrames(c *daptest.Client, lwps map[string]string) (all []shownFrame) {
	for _, th := range daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads {
		lwp := fmt.Sprint(th.Id)
		if lwps != nil {
			lwp = lwps[lwp]
		}
		stack := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", object{"threadId": th.Id})
		for _, f := range stack.StackFrames {
			if f.InstructionPointerReference == "" || f.Source == nil {
				continue
			}
			shown := shownFrame{lwp: lwp, pc: f.InstructionPointerReference, values: map[string][]variable{}}
			for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", object{"frameId": f.Id}).Scopes {
				if s.Name == "Locals" || s.Name == "Arguments" {
					shown.refused = !shown.add(c, "", s.VariablesReference, 0) || shown.refused
				}
			}
			all = append(all, shown)
		}
	}
	return all
}

// add adds the variables of a reference, and returns false if the adapter refuses them. The target of a pointer is its
// member value, as gdb has it.
func (f *shownFrame) add(c *daptest.Client, path string, reference, depth int) bool {
	m := c.Response(c.Send("variables", object{"variablesReference": reference}))
	if !m.Success {
		return false
	}
	for _, v := range daptest.BodyOf[godap.VariablesResponseBody](c, m).Variables {
		at := path + v.Name
		if path != "" && strings.HasPrefix(v.Name, "*") {
			at = path + "value"
		}
		f.values[at] = append(f.values[at], variable{v.Type, v.Value})
		if v.VariablesReference != 0 && depth < memberDepth {
			f.add(c, at+".", v.VariablesReference, depth+1)
		}
	}
	return true
}

// gdbThread matches a line of info threads.
var gdbThread = regexp.MustCompile(`(?m)^[* ] +(\d+) .*?\(?LWP (\d+)`)

// goldenTurns is the number of days in which each golden core is compared once: gdb takes a second for one.
const goldenTurns = 7

// openCore opens a core in an adapter that is to show types.
func openCore(t *testing.T, c *daptest.Client, arguments object) {
	t.Helper()
	daptest.Ask[any](c, "initialize", object{"adapterID": "x", "linesStartAt1": true, "supportsVariableType": true})
	attach := c.Send("attach", arguments)
	c.Event("initialized")
	daptest.Ask[any](c, "configurationDone", nil)
	if m := c.Response(attach); !m.Success {
		t.Fatalf("attach: %s", m.Text)
	}
	c.Event("stopped")
}

// TestValuesAsGdbAdapter compares the variables of all frames of the golden cores with those that the adapter of gdb 18
// shows: names, values and types, with two levels of members. The allowed differences have names.
func TestValuesAsGdbAdapter(t *testing.T) {
	gdb := omptest.GdbOf(t, "sid")
	var total valueComparison
	list, err := os.ReadDir("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if !d.IsDir() || d.Name() == "sysroot" || !omptest.Turn(goldenTurns, d.Name()) {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			core := unpackCore(t, d.Name())
			own, status := startAdapter(t, "--no-debuginfod")
			openCore(t, own, object{"target": core.Core, "exe": core.Exe, "sysroot": core.Sysroot})
			gdb := gdb
			if strings.HasPrefix(d.Name(), "aarch64") {
				gdb = omptest.MultiarchGdbOf(t, "sid")
			}
			theirs := startAlone(t, []string{gdb, "-nx", "-q", "-iex", "set sysroot " + core.Sysroot, "-i", "dap"})
			openCore(t, theirs, object{"coreFile": core.Core, "program": core.Exe})
			lwps := map[string]string{}
			info := daptest.Ask[godap.EvaluateResponseBody](theirs, "evaluate",
				object{"expression": "info threads", "context": "repl"}).Result
			for _, m := range gdbThread.FindAllStringSubmatch(info, -1) {
				lwps[m[1]] = m[2]
			}
			n := valueComparison{core: d.Name()}
			n.compare(t, shownFrames(own, nil), shownFrames(theirs, lwps))
			total.frames += n.frames
			total.variables += n.variables
			t.Logf("%d frames, %d variables; differences: %v", n.frames, n.variables, n.differences)
			daptest.Ask[any](theirs, "disconnect", object{"terminateDebuggee": true})
			theirs.CloseWrite()
			disconnect(t, own, status)
		})
	}
	if total.frames == 0 || total.variables == 0 {
		t.Errorf("%d frames with %d variables were compared", total.frames, total.variables)
	}
}

// valueComparison counts compared variables, and the differences by name.
type valueComparison struct {
	core              string
	frames, variables int
	differences       map[string]int
}

// compare compares the frames that both adapters have.
func (n *valueComparison) compare(t *testing.T, own, theirs []shownFrame) {
	t.Helper()
	n.differences = map[string]int{}
	byPlace := map[string][]shownFrame{}
	for _, f := range own {
		byPlace[f.lwp+" "+f.pc] = append(byPlace[f.lwp+" "+f.pc], f)
	}
	seen := map[string]int{}
	for _, f := range theirs {
		place := f.lwp + " " + f.pc
		nth := seen[place]
		seen[place]++
		if nth >= len(byPlace[place]) {
			continue
		}
		mine := byPlace[place][nth]
		switch {
		case f.refused:
			n.differences["gdb refuses a scope"]++
		case len(mine.values["not shown"]) > 0:
			n.differences["a frame that ended in a tail call"]++
		default:
			n.frames++
			n.compareFrame(t, mine, f)
		}
	}
}

// compareFrame compares the variables of a frame.
func (n *valueComparison) compareFrame(t *testing.T, own, theirs shownFrame) {
	t.Helper()
	for path, values := range theirs.values {
		for i, want := range values {
			n.variables++
			got := own.values[path]
			if i < len(got) {
				for _, reason := range n.explain(t, own.pc, path, got[i], want) {
					n.differences[reason]++
				}
				continue
			}
			reason := onlyInGdb(path, want, own)
			if reason == "" {
				t.Errorf("%s: only gdb shows %s: %v", own.pc, path, want)
			}
			n.differences[reason]++
		}
	}
	for path, values := range own.values {
		if len(values) <= len(theirs.values[path]) {
			continue
		}
		name, inside, _ := strings.Cut(path, ".")
		switch {
		case slices.Contains(theirs.names(), name+" #2") || len(theirs.values[path]) > 0:
			n.differences["equal names: gdb gives one a number, or shows one"]++
		case inside != "" && len(theirs.values[name]) > 0:
			n.differences["members that only the adapter shows"]++
		case len(theirs.values[path]) == 0:
			n.differences["a parameter that the copy of a function lacks in gdb"]++
		}
	}
}

// names returns the paths of the variables of a frame.
func (f *shownFrame) names() []string { return slices.Collect(maps.Keys(f.values)) }

// onlyInGdb explains a variable that only gdb shows; "" is no explanation.
func onlyInGdb(path string, want variable, own shownFrame) string {
	name, _, _ := strings.Cut(path, ".")
	switch {
	case name == "" || strings.HasPrefix(name, "__context"):
		return "an argument of the compiler"
	case strings.HasSuffix(path, " #2") && len(own.values[strings.TrimSuffix(path, " #2")]) > 0:
		return "equal names: gdb gives one a number, or shows one"
	case want.value == "<optimized out>":
		return "a variable that the copy of a function lacks: optimized out in gdb"
	case strings.HasSuffix(path, ".value") && strings.Contains(own.values[name][0].typ, "&"):
		return "a reference: gdb shows its address, with a child"
	}
	return ""
}

var (
	symbolSuffix = regexp.MustCompile(`^(0x[0-9a-f]+) <[^>]*>$`)
	textValue    = regexp.MustCompile(`^0x[0-9a-f]+ (".*)$`)
	repeatedZero = regexp.MustCompile(`^'\\000' <repeats \d+ times>$`)
)

// explain returns the names of the differences of two variables, and reports one without a name.
func (n *valueComparison) explain(t *testing.T, pc, path string, got, want variable) (reasons []string) {
	t.Helper()
	if got.typ != want.typ {
		if plainType(got.typ) != plainType(want.typ) {
			t.Errorf("%s: %s has the type %s, and in gdb %s", pc, path, got.typ, want.typ)
		}
		reasons = append(reasons, "the spelling of a type")
	}
	symbol := symbolSuffix.FindStringSubmatch(want.value)
	text := textValue.FindStringSubmatch(got.value)
	switch {
	case got.value == want.value:
		return reasons
	case want.value == "":
		return append(reasons, "the summary of a structure or an array")
	case symbol != nil && symbol[1] == got.value:
		return append(reasons, "a symbol after an address")
	case text != nil && text[1] == want.value:
		return append(reasons, "the address before a text")
	case got.value == `""` && repeatedZero.MatchString(want.value):
		return append(reasons, "an empty text in an array")
	case strings.Contains(got.typ, "&") && strings.HasPrefix(want.value, "@0x"):
		return append(reasons, "a reference: gdb shows its address, with a child")
	case n.core == "foreign" && path == "first":
		return append(reasons, "a register behind a library without a file")
	case got.value == "<optimized out>" && (path == "me"):
		return append(reasons, "in a register that the call may change: gdb shows its content")
	}
	t.Errorf("%s: %s is %q, and in gdb %q", pc, path, got.value, want.value)
	return reasons
}

// plainType returns a type without the parts that the adapters spell differently.
func plainType(s string) string {
	return strings.NewReplacer("struct ", "", "long unsigned int", "unsigned long", "long int", "long",
		"* restrict const", "* const restrict").Replace(s)
}
