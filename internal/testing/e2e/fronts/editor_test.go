package fronts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestVSCodeExtension runs the tests of the extension for VS Code, which the campaign editors has packaged: the
// adapter under VS Code's own test client and, if code-server and a browser are installed, the extension in the
// editor, on a core, on a process, and on a process in gdb through the proxy.
func TestVSCodeExtension(t *testing.T) {
	if omptest.Option("campaign") != "editors" {
		t.Skip("go run ./internal/testing/campaign editors packages and tests the extension")
	}
	core, err := omptest.UnpackGolden(e2e.GoldenDir, "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	absolute := func(name string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	process := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	cmd := exec.Command("node", "--test", "test/")
	cmd.Dir = filepath.Join(e2e.Root, "editors", "vscode")
	cmd.Env = append(os.Environ(),
		"OMPD_TOOL="+e2e.BuildTool(t), "OMPD_CORE="+absolute(core.Core), "OMPD_EXE="+core.Exe,
		"OMPD_SYSROOT="+core.Sysroot,
		"OMPD_SOURCES="+omptest.Programs(t), "OMPD_PROCESS="+strconv.Itoa(process.PID), "OMPD_PROCESS_EXE="+exe,
		"OMPD_GDB="+omptest.GdbOf(t, "sid"), "OMPD_BROWSER="+optional(t, "browser"),
		"OMPD_CODE_SERVER="+optional(t, "code-server"), "OMPD_KEEP="+omptest.KeepDir(t))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// optional returns the path of the program that an option of the campaign names; "" without the option.
func optional(t *testing.T, option string) string {
	t.Helper()
	name := omptest.Option(option)
	if name == "" {
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
