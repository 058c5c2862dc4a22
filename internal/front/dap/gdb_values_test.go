package dap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// gdbFrame is a frame with its plain values, as testdata/values.py writes it.
type gdbFrame struct {
	LWP      int         `json:"lwp"`
	PC       string      `json:"pc"`
	Function string      `json:"function"`
	Values   [][2]string `json:"values"`
}

// gdbFrames returns the frames of a core with their values, by LWP and PC.
func gdbFrames(t *testing.T, exe, core string) map[string][]gdbFrame {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values")
	cmd := exec.Command(omptest.Program(t, "gdb"), "-nx", "-batch", exe, core, "-x", "testdata/values.py")
	cmd.Env = append(os.Environ(), "VALUES="+file)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("Traceback")) {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		t.Fatalf("gdb wrote no values: %v", err)
	}
	frames := map[string][]gdbFrame{}
	for line := range bytes.Lines(text) {
		var f gdbFrame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint(f.LWP, " ", f.PC)
		frames[key] = append(frames[key], f)
	}
	return frames
}

// enumValue matches a value that has a name or a character, too: its number is compared.
var enumValue = regexp.MustCompile(`^\S+ \((-?\d+)\)$`)

// fortranIndex matches the name of an element of an array in Fortran. gdb has the last subscript first.
var fortranIndex = regexp.MustCompile(`^\((-?\d+(?:,-?\d+)*)\)$`)

// plainValue returns the form of a value that testdata/values.py has.
func plainValue(v string) string {
	if m := enumValue.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	if text, err := strconv.Unquote(v); err == nil && v[0] == '"' {
		return quoteBytes(text)
	}
	word, _, _ := strings.Cut(v, " ")
	switch {
	case strings.HasPrefix(v, "<"):
		return v
	case word == "true":
		return "1"
	case word == "false":
		return "0"
	case strings.ContainsAny(word, ".e") && !strings.HasPrefix(word, "0x"):
		if f, err := strconv.ParseFloat(word, 64); err == nil {
			return strings.Replace(fmt.Sprintf("%.6g", f), "+Inf", "inf", 1)
		}
	}
	return word
}

// quoteBytes returns a text as testdata/values.py has it: in JSON, with a character for each byte.
func quoteBytes(text string) string {
	runes := make([]rune, len(text))
	for i := range text {
		runes[i] = rune(text[i])
	}
	quoted, _ := json.Marshal(string(runes))
	return string(quoted)
}

// plainValues adds the plain values in a variable, by path. Targets of pointers are left out.
func plainValues(c *daptest.Client, path string, v godap.Variable, to map[string][]string) {
	path = baseClass.ReplaceAllString(path, "()")
	if v.VariablesReference == 0 || strings.HasPrefix(v.Value, "0x") {
		to[path] = append(to[path], plainValue(v.Value))
		return
	}
	which := args{"variablesReference": v.VariablesReference}
	for _, part := range daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables {
		name := part.Name
		if m := fortranIndex.FindStringSubmatch(name); m != nil {
			subscripts := strings.Split(m[1], ",")
			slices.Reverse(subscripts)
			name = "[" + strings.Join(subscripts, "][") + "]"
		}
		if !strings.HasPrefix(name, "[") {
			name = "." + name
		}
		plainValues(c, path+name, part, to)
	}
}

// baseClass matches the name of a base class, which gdb writes with its namespace.
var baseClass = regexp.MustCompile(`\([^()]*[a-zA-Z][^()]*\)`)

// leastNormal is a bound of the small numbers of type float, which have few digits.
const leastNormal = 1e-37

// sameValue reports whether two values are equal: floating-point numbers in their first digits.
func sameValue(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && strings.ContainsAny(a+b, ".e") &&
		(math.Abs(x-y) <= 1e-5*math.Abs(y) || math.Abs(y) < leastNormal && math.Abs(x-y) <= math.Abs(y)/2)
}

// hasValue reports whether one of the values whose path starts with a prefix is there.
func hasValue(own map[string][]string, prefix string) bool {
	for path, values := range own {
		isThere := func(s string) bool { return !strings.HasPrefix(s, "<") }
		if strings.HasPrefix(path, prefix) && slices.ContainsFunc(values, isThere) {
			return true
		}
	}
	return false
}

// comparison counts the compared values.
type comparison struct {
	frames         int
	equal, missing int // in both
	less, more     int // missing here, and in gdb
}

// compareFrame compares the variables of a frame with those of gdb. A value may be missing on one side: the caller
// whose debug information has it is in a library, or gdb takes a location list by the return address.
func (n *comparison) compareFrame(t *testing.T, c *daptest.Client, f godap.StackFrame, in gdbFrame) {
	t.Helper()
	own, scoped := map[string][]string{}, false
	for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", args{"frameId": f.Id}).Scopes {
		if s.Name != "Locals" {
			continue
		}
		scoped = true
		which := args{"variablesReference": s.VariablesReference}
		for _, v := range daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables {
			if v.Name == "not shown" {
				return
			}
			plainValues(c, v.Name, v, own)
		}
	}
	if !scoped { // a function of a library of the system
		return
	}
	n.frames++
	for _, pair := range in.Values {
		path, want := baseClass.ReplaceAllString(pair[0], "()"), pair[1]
		got := own[path]
		missing := slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "<") })
		switch {
		case slices.ContainsFunc(got, func(s string) bool { return sameValue(s, want) }):
			n.equal++
		case strings.HasPrefix(want, "!"):
		case want == "<optimized out>" && (missing || len(got) == 0 && !hasValue(own, path+".")):
			n.missing++
		case want == "<optimized out>":
			n.more++
		case missing:
			n.less++
		default:
			t.Errorf("%s (%s) at %s: %s is %v, and in gdb %s", f.Name, in.Function, in.PC, path, got, want)
		}
	}
}

// TestVariablesAsGdb compares the variables of all frames of cores with those that gdb reads, for both families of
// compilers, levels of optimization and versions of DWARF.
func TestVariablesAsGdb(t *testing.T) {
	omptest.Needs(t, "a compiler and gdb")
	for _, program := range []string{"values", "containers", "cxx_lambda", "cxx_locks", "taskgroup", "fortran_nested",
		"fortran_values"} {
		for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
			for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
				for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
					flang := strings.HasPrefix(program, "fortran") && compiler != omptest.GCC
					name := fmt.Sprint(program, " ", compiler, level, version)
					if flang || !omptest.Turn(16, name) && (program != "values" || level != "-O2" ||
						compiler != omptest.GCC) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						compareBuild(t, omptest.Build{Program: program, Compiler: compiler,
							Flags: []string{level, "-g", version}})
					})
				}
			}
		}
	}
}

// compareBuild compares the variables of one build.
func compareBuild(t *testing.T, b omptest.Build) {
	t.Helper()
	rt := omptest.RuntimeOf(t, 16)
	if b.Compiler == omptest.GCC {
		rt = omptest.Libgomp(t)
	}
	r := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Gcore})
	c, _ := attach(t, args{"target": r.Core})
	in := gdbFrames(t, r.Exe, r.Core)
	var n comparison
	for _, thread := range threads(c) {
		done := map[string]int{}
		for _, f := range stack(c, thread.Id) {
			key := fmt.Sprint(thread.Id, " ", f.InstructionPointerReference)
			if list := in[key]; done[key] < len(list) {
				n.compareFrame(t, c, f, list[done[key]])
			}
			done[key]++
		}
	}
	t.Logf("%d frames: %d equal values, %d missing on both sides, %d missing here, %d in gdb", n.frames, n.equal,
		n.missing, n.less, n.more)
	if n.frames == 0 || n.equal == 0 || n.less+n.more > n.equal/5 {
		t.Errorf("%d frames, %d equal values, %d and %d values of one side only", n.frames, n.equal, n.less, n.more)
	}
}
