package recordtest

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestHostOffload compares the events of target constructs on a device that is the host with the program's
// output: their kinds, places and numbers, and the source and destination of copies.
func TestHostOffload(t *testing.T) {
	exe, runtime := omptest.CompileOffload(t, 19, filepath.Join("testdata", "offload.c"))
	p := run(t, runtime, exe, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t))
	var mapped uint64
	if _, err := fmt.Sscanf(p.said, "READY %d", &mapped); err != nil {
		t.Fatal(err)
	}
	r := readRecording(t, p.Process.Pid)
	got := map[string]int{}
	for _, g := range r.rings {
		for _, e := range append(g.main[:len(g.main):len(g.main)], g.rare...) {
			countTarget(t, got, &e, mapped)
		}
	}
	want := map[string]int{
		"device": 4, "load": 1,
		"target 1 begin 1": 3, "target 1 begin 2": 3, // regions; LLVM 19 has no other number for nowait
		"target 2 begin 1": 1, "target 2 begin 2": 1, // target data: enter
		"target 3 begin 1": 1, "target 3 begin 2": 1, // exit
		"target 4 begin 1": 1, "target 4 begin 2": 1, // update
		"submit 1": 3, "submit 2": 3, "operation 1": 6, "operation 2": 6, "operation 3": 8, "operation 4": 6,
	}
	for _, list := range []map[string]int{want, got} {
		for what := range list {
			if got[what] != want[what] {
				t.Errorf("%s: %d, want %d", what, got[what], want[what])
			}
		}
	}
}

// loaded matches the text for a load of code that is not in a file.
var loaded = regexp.MustCompile(`^code is loaded on device \d, \d+ bytes, from 0x[0-9a-f]+ of the host to 0x[0-9a-f]+, module \d+$`)

// countTarget counts an event of a device, and checks the text of an operation on data.
func countTarget(t *testing.T, got map[string]int, e *trace.Event, mapped uint64) {
	t.Helper()
	switch e.Code {
	case trace.DeviceInitialize:
		got["device"]++
	case trace.DeviceLoad:
		got["load"]++
		if says := (trace.Words{}).Phrase(e); !loaded.MatchString(says) { // this runtime does not name the file
			t.Errorf("a load is told as %q", says)
		}
	case trace.TargetEMI:
		got[fmt.Sprintf("target %d begin %d", e.Kind, e.Endpoint)]++
	case trace.TargetSubmitEMI:
		got[fmt.Sprintf("submit %d", e.Endpoint)]++
	case trace.TargetDataOpEMI:
		got[fmt.Sprintf("operation %d", e.Kind)]++
		const size = 64 * 4
		host := map[uint8]uint64{1: e.A, 2: e.A, 3: e.B}[e.Kind]
		if bytes := binary.LittleEndian.Uint64(e.More); e.Kind <= 3 && (host != mapped || bytes != size) || e.PC == 0 {
			t.Errorf("operation %d is of %d bytes at %#x, want %d at %#x; its place is %#x", e.Kind, bytes, host, size,
				mapped, e.PC)
		}
	}
}
