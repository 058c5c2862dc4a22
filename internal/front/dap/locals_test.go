package dap_test

import (
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// variables maps expressions to the values of the variables of function hold.
var variables = map[string]string{
	"number": "1", "scale": "1.5", "product": "1000", "letter": `113 'q'`, "first": "false",
	"inner": "43", "kept": "42",
	"table[0][1]": "2", "table[1][2]": "1", "shape->name": `"square"`, "shape->color": "GREEN (5)",
	"shape->corners[1].y": "-3.25", "shape->filled": "1", "shape->weight": "21", "shape->delta": "-3",
	"shape->u.whole": "9", "shape->next->name": `"dot"`, "shape->next->color": "RED (0)",
}

// TestValues reads the variables of a program of both compilers, with and without optimization. Without
// optimization all are present; with it, they have the same values or are missing.
func TestValues(t *testing.T) {
	omptest.Needs(t, "a compiler")
	for _, b := range []omptest.Build{
		{Program: "values", Flags: []string{"-O0", "-g"}}, {Program: "values", Flags: []string{"-O2", "-g"}},
		{Program: "values", Flags: []string{"-O0", "-g", "-gdwarf-4"}, Compiler: omptest.GCC},
		{Program: "values", Flags: []string{"-O2", "-g"}, Compiler: omptest.GCC},
	} {
		t.Run(fmt.Sprint(b.Compiler, b.Flags), func(t *testing.T) {
			rt := omptest.RuntimeOf(t, 16)
			if b.Compiler == omptest.GCC {
				rt = omptest.Libgomp(t)
			}
			r := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Gcore})
			c, _ := attach(t, args{"target": r.Core})
			frames := stack(c, threads(c)[1].Id)
			whole := b.Flags[0] == "-O0"
			f := frameNamed(t, frames, "hold")
			for expression, want := range variables {
				checkVariable(t, c, f, expression, want, whole)
			}
			checkVariable(t, c, f, "text", `"other"`, whole)
			checkVariable(t, c, f, "shape->note", `"a note"`, whole)
			region := frameNamed(t, frames, "main [parallel]")
			checkVariable(t, c, region, "mine", "18", whole)
			checkVariable(t, c, region, "shared", "7", whole)
			checkVariable(t, c, frameNamed(t, frames, "main"), "argc", "2", whole)
			if rip := value(c, f, "$rip"); rip != f.InstructionPointerReference {
				t.Errorf("rip is %s at %s", rip, f.InstructionPointerReference)
			}
			registers := scope(t, c, f.Id, "Registers")
			if len(registers) < 7 || registers["rsp"].Value == "" {
				t.Errorf("registers %v", registers)
			}
		})
	}
}

// frameNamed returns the frame of a function.
func frameNamed(t *testing.T, frames []godap.StackFrame, name string) godap.StackFrame {
	t.Helper()
	for _, f := range frames {
		if f.Name == name || strings.HasPrefix(f.Name, name+".") { // hold.constprop.0
			return f
		}
	}
	t.Fatalf("no frame %q in %+v", name, frames)
	return godap.StackFrame{}
}

// value returns the result of an expression. An error starts with "!".
func value(c *daptest.Client, f godap.StackFrame, expression string) string {
	m := c.Response(c.Send("evaluate", args{"expression": expression, "frameId": f.Id}))
	if !m.Success {
		return "! " + m.Text
	}
	return daptest.BodyOf[godap.EvaluateResponseBody](c, m).Result
}

// checkVariable checks the value of a variable. If the code is optimized, it may be missing.
func checkVariable(t *testing.T, c *daptest.Client, f godap.StackFrame, expression, want string, whole bool) {
	t.Helper()
	got := value(c, f, expression)
	if strings.HasSuffix(got, want) || !whole && (strings.HasPrefix(got, "! ") || strings.HasPrefix(got, "<")) {
		return
	}
	t.Errorf("%s in %s is %s, want %s", expression, f.Name, got, want)
}

// TestLocalsScope checks that the first scope of a frame contains its variables, with their parts.
func TestLocalsScope(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	frames := stack(c, threads(c)[1].Id)
	main := frames[len(frames)-1]
	scopes := daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": main.Id}).Scopes
	omptest.Equal(t, "the first scope", scopes[0].PresentationHint, "locals")
	omptest.Equal(t, "the last scope", scopes[len(scopes)-1].PresentationHint, "registers")
	locals := parts(c, scopes[0].VariablesReference)
	omptest.Equal(t, "argc", locals["argc"].Value, "2")
	omptest.Equal(t, "its type", locals["argc"].Type, "int")
	text := parts(c, locals["argv"].VariablesReference)["*argv"]
	if !strings.HasSuffix(text.Value, `"/tmp/golden/llvm-deadlock/lock_cycle"`) || text.EvaluateName != "*argv" {
		t.Errorf("*argv is %+v", text)
	}
	for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": frames[0].Id}).Scopes {
		if s.PresentationHint == "locals" {
			t.Error("a frame that represents the runtime's work has variables")
		}
	}
}

// TestNoFrame checks that a function without a frame on the stack has no variables.
func TestNoFrame(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-nested"))
	for _, f := range stack(c, threads(c)[0].Id) {
		if strings.HasSuffix(f.Name, " (guessed: no frame: it ended in a tail call)") {
			v := scope(t, c, f.Id, "Locals")["not shown"]
			omptest.Equal(t, "the reason", v.Value, "it has no frame on the stack any more")
			return
		}
	}
	t.Error("no function ended in a tail call")
}
