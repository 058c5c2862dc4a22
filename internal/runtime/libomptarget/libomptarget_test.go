package libomptarget

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// truth is what the program printed.
type truth struct {
	devices int
	maps    map[int][]Mapping // by device, in the order of host addresses
}

// readTruth reads the lines of testdata/mapped.c until READY.
func readTruth(t *testing.T, out *bufio.Reader, stderr fmt.Stringer) truth {
	t.Helper()
	tr := truth{maps: map[int][]Mapping{}}
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("the program ended: %v\n%s", err, stderr)
		}
		var m Mapping
		var device, references int
		switch f := strings.Fields(line); f[0] {
		case "READY":
			for _, all := range tr.maps {
				slices.SortFunc(all, func(a, b Mapping) int { return int(int64(a.Host - b.Host)) })
			}
			return tr
		case "DEVICES":
			tr.devices, err = strconv.Atoi(f[1])
		case "GONE":
			_, err = fmt.Sscanf(line, "GONE %d %v", &device, &m.Host)
			tr.maps[device] = slices.DeleteFunc(tr.maps[device], func(one Mapping) bool { return one.Host == m.Host })
		default:
			_, err = fmt.Sscanf(line, "MAP %d %v %d %v %d %s", &device, &m.Host, &m.Size, &m.Device, &references,
				&m.Name)
			if m.Forever = references < 0; !m.Forever {
				m.References = uint64(references)
			}
			if m.Name == "-" {
				m.Name = ""
			}
			tr.maps[device] = append(tr.maps[device], m)
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
}

// Releases since which declare target variables have names, and data that is not aligned is padded on the device alone.
const (
	firstNamed  = 15
	firstPadded = 17
)

// compilers are the releases of compilers for releases of the library whose own compiler Debian 12 lacks.
var compilers = map[int]int{15: 14, 17: 16, 18: 19}

// dump runs testdata/mapped.c on a release and returns a core of it, with the truth.
func dump(t *testing.T, major int) (*corefile.Core, truth) {
	t.Helper()
	built, other := compilers[major]
	if !other {
		built = major
	}
	exe, runtime := omptest.CompileOffload(t, built, filepath.Join("testdata", "mapped.c"))
	if other {
		runtime = omptest.OffloadRuntime(t, built, major)
	}
	cmd := exec.Command(exe)
	if runtime.Loader != "" {
		cmd = exec.Command(runtime.Loader, "--library-path", runtime.Dir, exe)
	}
	cmd.Env = []string{"LD_LIBRARY_PATH=" + runtime.Dir}
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.StdoutPipe()
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
	tr := readTruth(t, bufio.NewReader(out), &errors)
	prefix := filepath.Join(t.TempDir(), "core")
	gcore := exec.Command(omptest.Program(t, "gcore"), "-o", prefix, strconv.Itoa(cmd.Process.Pid))
	if text, err := gcore.CombinedOutput(); err != nil {
		t.Fatalf("gcore: %v\n%s", err, text)
	}
	core, err := corefile.Open(fmt.Sprintf("%s.%d", prefix, cmd.Process.Pid), corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Close() })
	return core, tr
}

// TestMapped compares the devices and the mapped data with the program's own answers.
func TestMapped(t *testing.T) {
	for _, major := range []int{14, 15, 16, 17, 18, 19, 22} {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			core, tr := dump(t, major)
			check(t, core, tr, major)
		})
	}
}

func check(t *testing.T, core *corefile.Core, tr truth, major int) {
	t.Helper()
	modules, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	libraries := Find(core, modules)
	if len(libraries) != 1 {
		t.Fatalf("%d libraries", len(libraries))
	}
	devices, err := Read(core, libraries[0], modules)
	if err != nil || len(devices) != tr.devices {
		t.Fatalf("%d devices, want %d: %v", len(devices), tr.devices, err)
	}
	for _, all := range tr.maps {
		for i := range all {
			switch m := &all[i]; {
			case m.Name == "shared_value" && major < firstNamed:
				m.Name = ""
			case m.Name == "pair" && major < firstPadded: // the host's range begins at a multiple of 8
				padding := m.Host % 8
				m.Host, m.Device, m.Size = m.Host-padding, m.Device-padding, m.Size+padding
			}
		}
	}
	plugin := "x86_64"
	if major >= 19 {
		plugin = "host"
	}
	for i, d := range devices {
		if d.Number != i || d.Plugin != plugin || d.Err != nil {
			t.Errorf("device %d is %d of plugin %q: %v", i, d.Number, d.Plugin, d.Err)
		}
		want := tr.maps[i]
		if len(d.Mapped) != len(want) {
			t.Errorf("device %d has %d mappings, want %d", i, len(d.Mapped), len(want))
			continue
		}
		for j, got := range d.Mapped {
			got.Base, got.File, got.Line = 0, "", 0
			if got != want[j] {
				t.Errorf("device %d has %+v, want %+v", i, got, want[j])
			}
		}
	}
}
