package dap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"

	godap "github.com/google/go-dap"
)

// contained maps expressions in function hold of program containers, in thread 1, to the start of their values.
var contained = map[string]string{
	"numbers[3]": "6", "numbers[249]": "498", "numbers": "{0, 2, 4, 6,", "reference[100]": "200",
	"items[1].name": `"a name of more than sixteen characters"`, "items[0].id": "1", "none": "{}",
	"three": "{0.5, 1.5, -2}", "three[2]": "-2", "brief": `"short"`, "empty": `""`, "brief[1]": "104 'h'",
	"queue[0]": "5", "queue[294]": "299", "linked": "{3, 1, 2}", "linked[2]": "2", "forward": "{9, 8}",
	`ages["bob"]`: "7", `ages["carl"] + 1`: "10", "byNumber[5].name": `"five"`, "byNumber[-3].id": "3",
	"letters": "{97 'a', 120 'x'}", "sparse[1000]": "0.25", "only->id": "7", "(*only).name": `"only"`, "nothing": "0x0",
	"several[1]": "5", "common->name": `"common"`, "perhaps": "3", "absent": "no value", "count": "12", "count + 1": "13",
	"heap[999]": "499.5", "heap[2]@3": "{1, 1.5, 2}", "*heap@2": "{0, 0.5}", "sizeof(int) * 2": "8",
	"bits": "{true, false, false, true,", "bits[129]": "true", "bits[128]": "false", "bits[63]": "true",
	"shifted": "{true, false, false, true, false, false, true, false, …}", "shifted[9]": "true",
	"large[0].name": `"199"`, "large[199].id": "0", "large[170].name": `"29"`, "plain": "2.5", "choice.name": `"chosen"`, "word": `"a word"`,
	"own": "41", "pair": "{1, 10}", "kept": "7", "shared_counts[249]": "5",
}

// libcxx is the flag for LLVM's library of C++.
const libcxx = "-stdlib=libc++"

// TestContainers reads containers, smart pointers and thread-local variables, and pages through arrays.
func TestContainers(t *testing.T) {
	omptest.Needs(t, "a compiler")
	for _, b := range []omptest.Build{
		{Compiler: omptest.GCC, Flags: []string{"-std=c++17", "-O0", "-g"}},
		{Flags: []string{"-std=c++17", "-O0", "-g", "-gdwarf-4"}},
		{Flags: []string{"-std=c++17", "-O0", "-g", libcxx}},
	} {
		b.Program = "containers"
		llvm := slices.Contains(b.Flags, libcxx)
		t.Run(fmt.Sprint(b.Compiler, b.Flags), func(t *testing.T) {
			rt := omptest.RuntimeOf(t, 16)
			if llvm {
				b.Flags = append(slices.Clip(b.Flags), omptest.Libcxx(t)...)
			}
			if b.Compiler == omptest.GCC {
				rt = omptest.Libgomp(t)
			}
			r := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: rt, Mode: omptest.Gcore})
			c, _ := attach(t, args{"target": r.Core})
			f := frameNamed(t, stack(c, threads(c)[1].Id), "hold(int, double const*, int)")
			for expression, want := range contained {
				if got := value(c, f, expression); !strings.HasPrefix(got, want) {
					t.Errorf("%s is %s, want %s", expression, got, want)
				}
			}
			for expression, want := range map[string]string{
				"numbers[250]": "out of range: subscript 250 is not in 0 to 249",
				`ages["dan"]`:  `out of range: there is no key "dan"`,
				"*nothing":     "unreadable memory", "5@2": "wrong type: @ needs", "heap[0]@-1": "out of range",
			} {
				if got := value(c, f, expression); !strings.HasPrefix(got, "! ") || !strings.Contains(got, want) {
					t.Errorf("%s is %s, want the error %s", expression, got, want)
				}
			}
			checkPages(t, c, scope(t, c, f.Id, "Locals")["numbers"], 2)
			heap := args{"expression": "*heap@1000", "frameId": f.Id}
			checkPages(t, c, daptest.Ask[godap.Variable](c, "evaluate", heap), 0.5)
		})
	}
}

// checkPages reads an array whose element i is i times step, by pages and without.
func checkPages(t *testing.T, c *daptest.Client, v godap.Variable, step float64) {
	t.Helper()
	n := v.IndexedVariables
	if n < 250 {
		t.Fatalf("%s has %d elements", v.Name, n)
	}
	for _, from := range []int{0, 50, 100, n - 30} {
		which := args{"variablesReference": v.VariablesReference, "filter": "indexed", "start": from, "count": 30}
		list := daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables
		if last := list[len(list)-1]; len(list) != 30 || last.Name != fmt.Sprintf("[%d]", from+29) ||
			last.Value != fmt.Sprint(float64(from+29)*step) {
			t.Errorf("from %d: %d elements, the last is %+v", from, len(list), list[len(list)-1:])
		}
		if got := list[0].EvaluateName; !strings.HasSuffix(got, fmt.Sprintf("[%d]", from)) {
			t.Errorf("element %d is evaluated by %s", from, got)
		}
	}
	all, rest := 0, v.VariablesReference
	for rest != 0 {
		which := args{"variablesReference": rest}
		list := daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables
		rest = 0
		if last := list[len(list)-1]; strings.HasSuffix(last.Value, " more") {
			list, rest = list[:len(list)-1], last.VariablesReference
		}
		all += len(list)
	}
	omptest.Equal(t, "the elements without pages", all, n)
}
