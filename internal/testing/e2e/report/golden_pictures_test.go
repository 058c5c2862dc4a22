package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pictureCase is a program of which only the picture is kept: an example for the documents. Its name is that of the
// verdict.
type pictureCase struct {
	goldenCase
	by string // starter of the program: loop, recorder, or empty for one that writes its truth
}

// pictureCases returns the programs for the kinds of verdicts that no golden core has.
func pictureCases(t *testing.T) []pictureCase {
	t.Helper()
	o0, o1, o2 := []string{"-O0", "-g"}, []string{"-O1", "-g"}, []string{"-O2", "-g"}
	spin := []string{"OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite"}
	other := omptest.Libgomp(t).Lib
	return []pictureCase{
		{goldenCase{name: "self_deadlock", program: "verdict_self_lock", runtime: "libgomp-12", flags: o1}, ""},
		{goldenCase{name: "never_woken", program: "verdict_woken", runtime: "libgomp-12", flags: o1}, ""},
		{goldenCase{name: "spinning", program: "verdict_spin", runtime: "libomp-16", flags: o1,
			args: []string{"1"}}, ""},
		{goldenCase{name: "doacross_stuck", program: "verdict_doacross", runtime: "libomp-16", flags: o1}, ""},
		{goldenCase{name: "thread_ended", program: "verdict_thread_ended", runtime: "libgomp-12", flags: o1}, ""},
		{goldenCase{name: "fork_child", program: "verdict_fork_child", runtime: "libgomp-12", flags: o1,
			args: []string{"1"}}, ""},
		{goldenCase{name: "memory_overwritten", program: "verdict_overwritten", runtime: "libgomp-12", flags: o0,
			args: []string{"0"}, mode: omptest.Kernel}, ""},
		{goldenCase{name: "lock_handed_over", program: "handover", runtime: "libgomp-12", flags: o2,
			args: []string{"0"}}, "loop"},
		{goldenCase{name: "two_runtimes", program: "verdict_two_runtimes", runtime: "libomp-16", flags: o1,
			env: []string{"OMPD_OTHER=" + copyTo(t, other, filepath.Join(goldenHome, "libgomp-12/libgomp.so.1"))}}, ""},
		{goldenCase{name: "oversubscribed", program: "verdict_oversubscribed", runtime: "libomp-16", flags: o1,
			args: []string{"1", "8"}, env: spin[:1]}, ""},
		{goldenCase{name: "shared_processor", program: "verdict_oversubscribed", runtime: "libomp-16", flags: o1,
			args: []string{"1", "4"}, env: append([]string{"OMP_PROC_BIND=true", "OMP_PLACES={0}"}, spin...)}, ""},
		{goldenCase{name: "history", program: "history", runtime: "libomp-16", flags: o1,
			env: []string{"OMP_TOOL_LIBRARIES=" + omptest.Recorder(t), "KMP_USE_YIELD=0"}}, "recorder"},
	}
}

// picturesDir has the pictures of pictureCases.
var picturesDir = filepath.Join(e2e.Root, "testdata", "pictures")

// TestRemakePictures makes the pictures again, and requires the verdict of each.
func TestRemakePictures(t *testing.T) {
	if !*remake {
		t.Skip("pictures are made again with -remake only")
	}
	for _, c := range pictureCases(t) {
		t.Run(c.name, func(t *testing.T) {
			run := c.run(t)
			target, kind := "", picture.VerdictKind(c.name)
			switch {
			case c.mode != "":
				target = omptest.Dump(t, run).Core
			case c.by == "loop":
				target = strconv.Itoa(e2e.StartLoop(t, run).Process.Pid)
			case c.by == "recorder":
				target, kind = startRecorded(t, run), picture.VerdictLockOrder
			default:
				target = strconv.Itoa(omptest.Start(t, run).PID)
			}
			keepPicture(t, c.name, kind, target, filepath.Dir(run.Exe))
		})
	}
	t.Run("goroutines", func(t *testing.T) {
		run := e2e.GoLanes[0].Run(t, omptest.Live)
		keepPicture(t, "goroutines", "", strconv.Itoa(omptest.Start(t, run).PID), filepath.Dir(run.Exe))
	})
	t.Run("recording", func(t *testing.T) { keepRecording(t, buildTransfer(t)) })
	t.Run("transfer", func(t *testing.T) {
		exe := buildTransfer(t)
		cmd := exec.Command(exe)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		keepPicture(t, "transfer", picture.VerdictDeadlock, strconv.Itoa(cmd.Process.Pid), filepath.Dir(exe))
		renumber(t, "transfer", cmd.Process.Pid)
	})
}

// keepRecording writes the recording of a program that hangs, and its executable.
func keepRecording(t *testing.T, exe string) {
	t.Helper()
	dir := filepath.Join(e2e.Root, "testdata", "recordings", "transfer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "recording")
	cmd := exec.Command(e2e.BuildTool(t), "record", "--save", saved, "--hang-after", "2s", "--", exe)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != cli.ExitHang {
		t.Fatalf("%v\n%s", err, out)
	}
	pack(t, saved, filepath.Join(dir, "core.zst"))
	pack(t, exe, filepath.Join(dir, "exe.zst"))
}

// pagePID is the PID of the program in docs/getting-started.md.
const pagePID = 13745

// renumber gives the process of a picture, and the thread after its first, the numbers that the page has.
func renumber(t *testing.T, name string, pid int) {
	t.Helper()
	path := filepath.Join(picturesDir, name+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		number := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, pid+i))
		text = number.ReplaceAll(text, strconv.AppendInt(nil, int64(pagePID+i), 10))
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// buildTransfer builds the program in docs/getting-started.md.
func buildTransfer(t *testing.T) (exe string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(e2e.Root, "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ := strings.Cut(string(page), "```c\n")
	source, _, found := strings.Cut(source, "```")
	if !found {
		t.Fatal("docs/getting-started.md has no program")
	}
	dir := filepath.Join(goldenHome, "transfer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "transfer.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(omptest.Program(t, "gcc"), "-g", "-fopenmp", "transfer.c", "-o", "transfer")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "transfer")
}

// startRecorded starts a program that prints READY when its record is complete.
func startRecorded(t *testing.T, run omptest.Run) (pid string) {
	t.Helper()
	cmd := run.Command(t.TempDir(), "0")
	input, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal(err1, err2)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}

// maxLooks bounds the looks at a program until it has its verdict.
const maxLooks = 10_000

// keepPicture looks at a target until it has a verdict of a kind, if one is given, and writes its picture without the
// parts that no verdict needs. The paths in it are those of a user's directory and of Debian's packages.
func keepPicture(t *testing.T, name string, kind picture.VerdictKind, target, home string) {
	t.Helper()
	var pic *picture.Picture
	for look := 0; ; look++ {
		pic = e2e.Report(t, target)
		if kind == "" || slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Kind == kind }) {
			break
		}
		if look == maxLooks {
			t.Fatalf("no %s in %d looks: %+v", kind, look, pic.Verdicts)
		}
	}
	was, err := json.Marshal(pic.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	pic.Layout, pic.ICVs = nil, nil
	if pic.Target.Path != "" {
		pic.Target.Path = "core"
	}
	for i := range pic.Threads {
		pic.Threads[i].Stack = nil
	}
	if is, _ := json.Marshal(diagnose.Run(pic)); string(is) != string(was) {
		t.Errorf("the verdicts of the saved picture are\n%s\nand were\n%s", is, was)
	}
	out, err := json.Marshal(pic)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(home, "/home/me", goldenHome+"/libomp-16", "/usr/lib/llvm-16/lib",
		goldenHome+"/libgomp-12", "/lib/x86_64-linux-gnu", filepath.Dir(omptest.Recorder(t)),
		"/usr/lib/ompd-inspect").Replace(string(out))
	if err := os.MkdirAll(picturesDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(picturesDir, name+".json"), []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
