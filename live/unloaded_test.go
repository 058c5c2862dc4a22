package live

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestUnloaded looks at a process after its runtime was unloaded while its threads waited in it. A stop would
// kill it, so it is inspected without one. Its twin still has the runtime.
func TestUnloaded(t *testing.T) {
	part := compile(t, "unloaded_part.c", "-shared", "-fPIC", "-fopenmp")
	exe := compile(t, "unloaded.c", "-ldl")
	for name, args := range map[string][]string{"unloaded": {part, "unload"}, "loaded": {part}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, args...)
			cmd.Env = append(os.Environ(), "GOMP_SPINCOUNT=0", "OMP_WAIT_POLICY=passive")
			prog := launch(t, nil, cmd)
			maps, err := readMaps(prog.pid)
			if err != nil {
				t.Fatal(err)
			}
			there := false
			for _, m := range maps {
				there = there || strings.Contains(m.name, "libgomp")
			}
			if there != (name == "loaded") {
				t.Fatalf("libgomp is mapped: %v", there)
			}
			p := openProcess(t, prog.pid, Options{})
			seen := 0
			pause, err := p.Look(t.Context(), func(target callbacks.Target) error {
				ids, err := target.ThreadIDs(callbacks.ThreadIDLWP)
				seen = len(ids)
				return err
			})
			if err != nil || seen != 4 {
				t.Fatalf("%d threads, %v", seen, err)
			}
			stranded, stopped := 3, 0
			if name == "loaded" {
				stranded, stopped = 0, 4
			}
			if len(pause.Stranded) != stranded || pause.Threads != stopped {
				t.Errorf("%+v, want %d threads that are stranded, and %d stopped", pause, stranded, stopped)
			}
			err = p.Stop(t.Context())
			if name == "loaded" {
				err = errors.Join(err, p.Resume())
				if err != nil {
					t.Error(err)
				}
			} else {
				wantError(t, err, ErrStranded, "unloaded", "--no-stop")
			}
			prog.in.Close()
			var exit *exec.ExitError
			if err := prog.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
				t.Errorf("the program: %v, want exit status 4", err)
			}
		})
	}
}
