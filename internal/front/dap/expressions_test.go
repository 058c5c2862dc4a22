package dap_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestExpressions evaluates expressions on the variables of function hold of program values, in thread 1.
func TestExpressions(t *testing.T) {
	omptest.Needs(t, "a compiler")
	exe := omptest.Compile(t, omptest.Build{Program: "values", Flags: []string{"-O0", "-g"}, Compiler: omptest.GCC})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Gcore})
	c, _ := attach(t, args{"target": r.Core})
	f := frameNamed(t, stack(c, threads(c)[1].Id), "hold")
	for expression, want := range map[string]string{
		"number + 2*3": "7", "-number": "-1", "product / 3": "333", "product % 7": "6", "scale * 2": "3",
		"scale > 1":        "1",
		"table[1][number]": "5", "table[number][2] == number": "1", "shape->corners[number].y": "-3.25",
		"*shape->next": "{name = \"dot\"", "(*shape).delta": "-3", "shape->filled + shape->weight": "22",
		"shape->u.whole << 1": "18", "&table[1][2] - 0": "0x", "*&number": "1", "sizeof(struct shape)": "72",
		"sizeof(int *)": "8", "sizeof table": "24", "(char)(65 + number)": "66", "(double)number / 4": "0.25",
		"(long)product": "1000", "((struct shape *)shape)->delta": "-3", "visits": "17", "visits + kept": "59",
		"shape->name[0]": "115 's'", "number && scale": "1", "0x10 | 1": "17", "!number": "0", "letter == 'q'": "1",
		"product": "1000", "true": "1", "~0": "-1",
	} {
		if got := value(c, f, expression); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	for expression, want := range map[string]string{
		"nowhere": "unknown name: nowhere", "shape->nowhere": "unknown name: const shape has no member nowhere",
		"table[2][0]": "out of range: subscript 2 is not in 0 to 1", "number / 0": "out of range: division by zero",
		"*(int *)8": "unreadable memory at 0x8", "number +": "syntax error: the expression ends early",
		"number number": "syntax error at \"number\"", "(number": "syntax error: \")\" is expected",
		"*number": "wrong type: it is no pointer", "number.x": "wrong type: int has no members",
		"scale % 2": "wrong type", "&5": "wrong type: it has no address",
		strings.Repeat("-", 2000) + "1": "syntax error",
	} {
		if got := value(c, f, expression); !strings.HasPrefix(got, "! ") || !strings.Contains(got, want) {
			t.Errorf("%.30s is %s, want the error %s", expression, got, want)
		}
	}
	globals := scope(t, c, f.Id, "Globals")
	omptest.Equal(t, "the value of visits", globals["visits"].Value, "17")
}

// TestLockValues shows locks by their meaning: the holder, the place and the number of waiting threads.
func TestLockValues(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-deadlock"))
	for _, thread := range threads(c)[:2] {
		for _, f := range stack(c, thread.Id) {
			if f.Name != "deposit" && f.Name != "withdraw" {
				continue
			}
			globals := scope(t, c, f.Id, "Globals")
			omptest.Equal(t, "the lock first", globals["first"].Value,
				"held by thread 0, acquired in deposit /src/lock_cycle.c:9; 1 wait")
			omptest.Equal(t, "the lock second", value(c, f, "*&second"),
				"held by thread 1, acquired in withdraw /src/lock_cycle.c:18; 1 wait")
			return
		}
	}
	t.Error("no thread is in deposit or withdraw")
}
