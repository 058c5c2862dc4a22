package live

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mappedSource maps data to devices, and prints what it mapped.
var mappedSource = filepath.Join("..", "..", "..", "runtime", "libomptarget", "testdata", "mapped.c")

// startMapped starts the program, and returns the lines that it printed until READY.
func startMapped(t *testing.T, exe string, r omptest.Runtime) (pid int, lines []string) {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = []string{"LD_LIBRARY_PATH=" + r.Dir}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	out := bufio.NewScanner(pipe)
	for out.Scan() && out.Text() != "READY" {
		lines = append(lines, out.Text())
	}
	if out.Text() != "READY" {
		t.Fatalf("the program ended: %q", lines)
	}
	return cmd.Process.Pid, lines
}

// checkDevices compares devices with the lines that the program printed.
func checkDevices(t *testing.T, devices []picture.Device, lines []string) {
	t.Helper()
	if want := fmt.Sprintf("DEVICES %d", len(devices)); lines[0] != want {
		t.Fatalf("%s, and %d are listed", lines[0], len(devices))
	}
	declarations := map[string]string{
		"grid": "static double grid", "counts": "static int counts", "heap[10:20]": "  double *heap",
	}
	want := map[string]bool{}
	for _, line := range lines[1:] {
		if f := strings.Fields(line); f[0] == "GONE" {
			delete(want, f[1]+" "+f[2])
		} else {
			want[f[1]+" "+f[2]] = true
		}
	}
	got := 0
	for _, d := range devices {
		if d.Error != "" {
			t.Errorf("device %d: %s", d.Number, d.Error)
		}
		for _, m := range d.Mapped {
			got++
			if key := fmt.Sprintf("%d %s", d.Number, m.Host); !want[key] && m.Name != "pair" { // which may be padded
				t.Errorf("device %d has %+v, which the program did not map", d.Number, m)
			}
			if text := declarations[m.Name]; text != "" && m.Line != lineIn(t, mappedSource, text) {
				t.Errorf("device %d has %+v, not declared by %q", d.Number, m, text)
			}
			if m.Name == "" && m.References != nil {
				t.Errorf("device %d has %+v without a name", d.Number, m)
			}
		}
	}
	if got != len(want) {
		t.Errorf("%d mapped ranges, want %d", got, len(want))
	}
}

// TestDevices looks at the devices of a process and of its core, and at their text.
func TestDevices(t *testing.T) {
	for _, major := range []int{14, 16, 19, 22} {
		exe, runtime := omptest.CompileOffload(t, major, mappedSource)
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			pid, lines := startMapped(t, exe, runtime)
			core := gcore(t, pid)
			for _, target := range []string{fmt.Sprint(pid), core} {
				_, text, _ := e2e.Output(t, "report", "--json", target)
				checkDevices(t, e2e.Decode(t, text).Devices, lines)
			}
			_, served, _ := e2e.Output(t, "devices", "--json", "--server", e2e.Serve(t), fmt.Sprint(pid))
			checkDevices(t, e2e.Decode(t, served).Devices, lines)
			// A file that is not the program's counts as missing.
			_, lost, _ := e2e.Output(t, "devices", "--json", "--exe", omptest.Program(t, "strip"), core)
			if n := len(e2e.Decode(t, lost).Devices); fmt.Sprint("DEVICES ", n) != lines[0] {
				t.Errorf("%d devices without the program's file, want %s", n, lines[0])
			}
			_, report, _ := e2e.Output(t, "report", fmt.Sprint(pid))
			_, listed, _ := e2e.Output(t, "devices", "--all", core)
			for _, want := range []string{"DEVICES", "MAPPED DATA", "heap[10:20]", "mapped.c:", "always"} {
				if !strings.Contains(listed, want) {
					t.Errorf("devices has no %q:\n%s", want, listed)
				}
			}
			if !strings.Contains(report, "DEVICES") || strings.Contains(report, "heap[10:20]") {
				t.Errorf("the report does not have a summary of the devices:\n%s", report)
			}
			if text := doctorText(t, pid); !strings.Contains(text, strings.ToLower(lines[0][8:])+" devices, ") {
				t.Errorf("doctor does not count the devices:\n%s", text)
			}
		})
	}
}
