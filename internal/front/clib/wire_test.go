package clib

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// parseEnum reads the numbers of an enum of wire.h. Each name has a number or the next one.
func parseEnum(t *testing.T) map[string]uint64 {
	t.Helper()
	b, err := os.ReadFile("../../../libompd/wire.h")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(b), "")
	out, next := map[string]uint64{}, uint64(0)
	for _, m := range regexp.MustCompile(`\b(WIRE_\w+)(?: = (\d+)(?: << (\d+))?)?\s*[,}\n]`).FindAllStringSubmatch(text,
		-1) {
		if m[2] != "" {
			next, _ = strconv.ParseUint(m[2], 10, 64)
			shift, _ := strconv.ParseUint(m[3], 10, 64)
			next <<= shift
		}
		if _, known := out[m[1]]; !known {
			out[m[1]] = next
			next++
		}
	}
	return out
}

// TestWireNumbers compares the numbers of both ends of the connection.
func TestWireNumbers(t *testing.T) {
	c := parseEnum(t)
	want := map[string]uint64{
		"VERSION": wireVersion, "WORDS": wireWords, "BYTES": wireBytes, "PIECES": wirePieces,
	}
	for name, k := range map[string]kind{
		"HELLO": kindHello, "RETURN": kindReturn, "READ": kindRead, "SYMBOL": kindSymbol, "ANSWER": kindAnswer,
		"READS":   kindReads,
		"PROCESS": kindProcess, "RELEASE": kindRelease, "OMP_VERSION": kindOMPVersion,
		"OMP_VERSION_STRING": kindOMPVersionString,
		"THREAD_ID_KINDS":    kindThreadIDKinds, "THREAD_HANDLE": kindThreadHandle, "THREAD_ID": kindThreadID,
		"THREAD_IN_PARALLEL": kindThreadInParallel,
		"CURR_PARALLEL":      kindCurrParallel, "ENCLOSING_PARALLEL": kindEnclosingParallel,
		"TASK_PARALLEL": kindTaskParallel,
		"CURR_TASK":     kindCurrTask, "GENERATING_TASK": kindGeneratingTask, "SCHEDULING_TASK": kindSchedulingTask,
		"TASK_IN_PARALLEL": kindTaskInParallel, "TASK_FUNCTION": kindTaskFunction, "TASK_FRAME": kindTaskFrame,
		"NEXT_STATE": kindNextState,
		"STATE":      kindState, "CONTROL_VARS": kindControlVars, "NEXT_ICV": kindNextICV, "ICV": kindICV,
		"ICV_STRING": kindICVString, "TOOL_DATA": kindToolData,
	} {
		want[name] = uint64(k)
		if _, routine := routines[k]; k > kindRelease && !routine {
			t.Errorf("no routine for %s", name)
		}
	}
	for name, v := range want {
		if got, ok := c["WIRE_"+name]; !ok || got != v {
			t.Errorf("WIRE_%s is %d in C and %d in Go", name, got, v)
		}
	}
	if len(c) != len(want) {
		t.Errorf("%d numbers in C, %d in Go", len(c), len(want))
	}
}
