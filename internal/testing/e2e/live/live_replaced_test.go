package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestReplacedFiles upgrades the runtime of a running program, and deletes its executable: the mapped files are
// still read, never the files that replaced them. A user without permission to open the mapped files learns which
// users have it.
func TestReplacedFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can open files that have no name any more")
	}
	r := omptest.RuntimeOf(t, 16)
	r.Dir = t.TempDir()
	lib, exe := filepath.Join(r.Dir, filepath.Base(r.Lib)), filepath.Join(r.Dir, "program")
	e2e.CopyFile(t, r.Lib, lib)
	original := omptest.Compile(t, omptest.Build{Program: "barrier"})
	e2e.CopyFile(t, original, exe)
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: r, Mode: omptest.Live})
	if err := errors.Join(os.Remove(lib), os.Remove(exe)); err != nil {
		t.Fatal(err)
	}
	e2e.CopyFile(t, omptest.RuntimeOf(t, 14).Lib, lib)
	pic := e2e.ReportProcess(t, p.PID)
	e2e.CheckPicture(t, pic, &omptest.Result{Truth: p.Truth, Exe: original}, true)
	if len(pic.Warnings) > 0 || pic.Target.Executable != exe || pic.Runtimes[0].Path != lib {
		t.Errorf("%s with %s: %v", pic.Target.Executable, pic.Runtimes[0].Path, pic.Warnings)
	}
	named := func(f picture.Frame) bool { return f.Function == "__kmpc_barrier" }
	if !slices.ContainsFunc(pic.Threads, func(th picture.Thread) bool { return slices.ContainsFunc(th.Stack, named) }) {
		t.Error("no frame has the name of a function of the runtime")
	}
	list := listed(t, "--sample", "0").Processes
	i := slices.IndexFunc(list, func(c picture.Process) bool { return c.PID == p.PID })
	if i < 0 || len(list[i].Runtimes) != 1 || list[i].Runtimes[0].Path != lib || list[i].Executable != exe {
		t.Errorf("%+v", list)
	}
	weak := filepath.Join(r.Dir, "ompd-inspect")
	e2e.CopyFile(t, e2e.Process().Path, weak)
	cmd := exec.Command("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore", weak, strconv.Itoa(p.PID))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "replaced while the program "+
		"ran; root can still read it") {
		t.Errorf("%v\n%s", err, out)
	}
}
