package recordtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptrecord"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// traced returns the recorded records of devices, and the number of damaged ones. It requires the time and the id of
// the target region of each record, which the event repeats.
func traced(t *testing.T, g ring) (records [][]byte, damaged uint64) {
	t.Helper()
	for _, r := range g.main {
		switch {
		case r.Code != trace.DeviceRecord:
		case r.Kind == 0:
			damaged += r.A
		default:
			b := r.Bytes()
			records = append(records, b)
			if d, err := omptrecord.Parse(b); err != nil || r.A != d.Time || r.B != d.Target {
				t.Errorf("the event has time %d and target region %d, the record %+v, error %v", r.A, r.B, d, err)
			}
		}
	}
	return records, damaged
}

// deviceRecords returns 40 records of kernels and copies, and the name of a file of them.
func deviceRecords(t *testing.T) (all [][]byte, name string) {
	t.Helper()
	var file []byte
	for i := range uint64(20) {
		kernel := omptrecord.Record{Type: 35, Time: 1000 + i, ThreadID: 7, Target: 100 + i,
			Body: &omptrecord.TargetKernel{HostOpID: 200 + i, RequestedNumTeams: 4, GrantedNumTeams: 2,
				EndTime: 2000 + i}}
		copied := omptrecord.Record{Type: 34, Time: 3000 + i, Target: 100 + i,
			Body: &omptrecord.TargetDataOp{HostOpID: 300 + i, Optype: 2, SrcAddr: 0x1000, DestAddr: 0x2000,
				SrcDeviceNum: -1, DestDeviceNum: 3, Bytes: 1 << 40, EndTime: 4000 + i, CodeptrRA: 0x401000}}
		for _, r := range []omptrecord.Record{kernel, copied} {
			b, err := r.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			all, file = append(all, b), append(file, b...)
		}
	}
	name = filepath.Join(t.TempDir(), "records")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return all, name
}

// TestTargetEvents emits events of a target region, in the form of OpenMP 5.1 and in the one before: the recorder
// stores each event.
func TestTargetEvents(t *testing.T) {
	exe := build(t, "gcc", "device.c")
	for form, want := range map[string][]trace.Code{
		"old": {8, 22, 9, 10, 8}, "emi": {33, 34, 34, 35, 35, 36, 33},
	} {
		p := runArgs(t, omptest.Runtime{Name: "with a device"}, []string{exe, "/dev/null", "104", form},
			"LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER_DEVICES=1")
		g := readRecording(t, p.Process.Pid).ringOf(t, p.Process.Pid)
		got, rare := codes(g.main), codes(g.rare)
		if !slices.Equal(got, want) || !slices.Equal(rare, []trace.Code{12, 14, 15, 13}) {
			t.Errorf("%s: the events are %d and %d, want %d", form, got, rare, want)
		}
		if g.State != 0 {
			t.Errorf("%s: the state is %#x", form, g.State)
		}
	}
}

// TestDeviceTracing enables tracing on a device: the recorder stores each of its records, byte for byte, and
// survives the known defects of devices' runtimes.
func TestDeviceTracing(t *testing.T) {
	exe := build(t, "gcc", "device.c")
	want, name := deviceRecords(t)
	p := runArgs(t, omptest.Runtime{Name: "with a device"}, []string{exe, name, fmt.Sprint(omptrecord.Size), "emi"},
		"LD_PRELOAD="+omptest.Recorder(t), "OMPD_RECORDER_DEVICES=1")
	g := readRecording(t, p.Process.Pid).ringOf(t, p.Process.Pid)
	got, damaged := traced(t, g)
	testDeviceWords(t, g)
	// One record of the buffer with the stuck cursor, every second one of the buffer with overlaps, and all
	// records of the buffers that are assembled elsewhere, of the two in two parts, and of the repeated one.
	four := want[:4:4]
	for _, more := range [][][]byte{four[:1], four, four, four, four, four[:1]} {
		want = append(want, more...)
	}
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i], want[i]) {
			t.Fatalf("record %d of %d, %d wanted, differs", i, len(got), len(want))
		}
	}
	// Three more between the overlapping ones, all of two buffers of four, and two that are not buffers.
	if len(got) != len(want) || damaged != 3+4+4+2 {
		t.Errorf("%d records, %d damaged", len(got), damaged)
	}
	r, err := omptrecord.Parse(got[1])
	if err != nil {
		t.Fatal(err)
	}
	if body, ok := r.Body.(*omptrecord.TargetDataOp); !ok || body.Bytes != 1<<40 || body.SrcDeviceNum != -1 {
		t.Errorf("%+v, error %v", r, err)
	}
}

// TestBufferLimits runs a device of OpenMP 6.0 that recommends buffers of 256 KiB (37.6): it gets them, and each record
// in one is stored.
func TestBufferLimits(t *testing.T) {
	exe := build(t, "gcc", "device.c")
	want, name := deviceRecords(t)
	p := runArgs(t, omptest.Runtime{Name: "with a device"},
		[]string{exe, name, fmt.Sprint(omptrecord.Size), "limits"}, "LD_PRELOAD="+omptest.Recorder(t),
		"OMPD_RECORDER_DEVICES=1")
	got, damaged := traced(t, readRecording(t, p.Process.Pid).ringOf(t, p.Process.Pid))
	if len(got) != 16*len(want) || damaged != 0 {
		t.Fatalf("%d records, %d damaged", len(got), damaged)
	}
	for i, b := range got {
		if !bytes.Equal(b, want[i%len(want)]) {
			t.Fatalf("record %d differs", i)
		}
	}
}

// testDeviceWords checks the text for records that a device has traced, and for damaged ones.
func testDeviceWords(t *testing.T, g ring) {
	t.Helper()
	var said []string
	for i := range g.main {
		if e := &g.main[i]; e.Code == trace.DeviceRecord {
			said = append(said, trace.Words{}.Phrase(e))
		}
	}
	for _, want := range []string{
		"device 3 traced the execution of a kernel, at 1000 of its clock",
		"device 3 traced a copy to a device, 1099511627776 bytes, at 3000 of its clock",
		"damaged records of device 3: 4",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("nothing says %q", want)
		}
	}
}
