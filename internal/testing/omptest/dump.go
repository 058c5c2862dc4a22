package omptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keepCore is the size on disk, in bytes, up to which a core is kept in the cache.
const keepCore = 128 << 20

// Result is a core and the truth about it.
type Result struct {
	Core      string // path
	TruthFile string // path of the JSON lines that Truth was read from
	Truth     Truth
	PID       int
	Exe       string
	Runtime   Runtime
}

// Dump runs a program until all its threads are in position, and writes a core of it. Equal runs share one core;
// one that is big on disk exists only during the test.
func Dump(tb testing.TB, r Run) *Result {
	tb.Helper()
	inputs := []any{hashFile(tb, r.Exe), r.Exe, r.Runtime.Lib, r.Args, r.Env, r.Mode}
	if r.Runtime.Lib != "" {
		inputs = append(inputs, hashFile(tb, r.Runtime.Lib))
	}
	var big *Result
	key := keyOf(inputs...)
	setFailedAside(tb, key)
	dir := cached(tb, "cores", key, func(dir string) {
		dump(tb, r, dir)
		info, err := os.Stat(filepath.Join(dir, "core"))
		must(tb, err)
		addCore(tb, onDisk(info))
		if onDisk(info) > keepCore {
			big = result(tb, r, dir)
			moveTo(tb, big, tb.TempDir())
		}
	})
	tb.Cleanup(func() {
		if tb.Failed() {
			_ = os.WriteFile(filepath.Join(dir, failedMark), nil, 0o644)
		}
	})
	if big == nil {
		// An entry without a core means that an earlier one was too big to keep.
		if _, err := os.Stat(filepath.Join(dir, "core")); err == nil {
			return result(tb, r, dir)
		}
		big = dumpBig(tb, r)
	}
	return big
}

// failedMark is the name of a file that marks a core at which a test failed.
const failedMark = "failed"

// begun is the start time of this process.
var begun = time.Now()

// setFailedAside renames a core at which a test of an earlier process failed, so that a repeated test gets a new
// core: a program may be in another state at each dump. The old core stays for a while, for inspection.
func setFailedAside(tb testing.TB, key string) {
	tb.Helper()
	parent := filepath.Join(cacheDir(tb), "cores")
	mark, err := os.Stat(filepath.Join(parent, key, failedMark))
	if err != nil || mark.ModTime().After(begun) {
		return
	}
	unlock := lock(tb, filepath.Join(parent, "."+key+".lock"))
	defer unlock()
	aside, err := os.MkdirTemp(parent, "failed-"+key+"-")
	must(tb, err)
	must(tb, os.Remove(aside)) // only its name is needed
	if err := os.Rename(filepath.Join(parent, key), aside); err != nil {
		tb.Logf("the core stays: %v", err)
		return
	}
	tb.Logf("a test failed at an earlier core of this program: it is in %s", aside)
}

// dumpBig makes a core that is known to be too big for the cache.
func dumpBig(tb testing.TB, r Run) *Result {
	tb.Helper()
	dir := tb.TempDir()
	dump(tb, r, dir)
	return result(tb, r, dir)
}

// dump writes core and truth.jsonl into dir. It stops the process for gcore before dir is renamed.
func dump(tb testing.TB, r Run, dir string) {
	tb.Helper()
	switch r.Mode {
	case Kernel, Segv:
		crash(tb, r, dir)
	case Gcore:
		p := start(tb, r, dir)
		defer p.Stop()
		core := filepath.Join(dir, "core")
		command(tb, dir, "gcore", "-o", core, fmt.Sprint(p.PID))
		must(tb, os.Rename(fmt.Sprintf("%s.%d", core, p.PID), core))
		command(tb, dir, "fallocate", "--dig-holes", core) // gdb writes the zeros of stacks
	default:
		tb.Fatalf("mode %q makes no core: use Start", r.Mode)
	}
}

// result reads the truth from the directory of a core.
func result(tb testing.TB, r Run, dir string) *Result {
	tb.Helper()
	path := filepath.Join(dir, "truth.jsonl")
	truth, err := ReadTruth(path)
	must(tb, err)
	return &Result{Core: filepath.Join(dir, "core"), TruthFile: path, Truth: truth, PID: truth.Program.PID, Exe: r.Exe,
		Runtime: r.Runtime}
}

// moveTo moves the core out of the cache. The truth stays to mark that it was too big.
func moveTo(tb testing.TB, r *Result, dir string) {
	tb.Helper()
	to := filepath.Join(dir, "core")
	if err := os.Rename(r.Core, to); err != nil {
		command(tb, dir, "cp", "--sparse=always", r.Core, to)
		must(tb, os.Remove(r.Core))
	}
	text, err := os.ReadFile(r.TruthFile)
	must(tb, err)
	r.Core, r.TruthFile = to, filepath.Join(dir, "truth.jsonl")
	must(tb, os.WriteFile(r.TruthFile, text, 0o644))
}

// Gdb runs commands of gdb on a core, without the user's settings, and returns its output.
func Gdb(tb testing.TB, exe, core string, cmds ...string) string {
	tb.Helper()
	Needs(tb, "gdb")
	args := []string{"-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load safe-path /"}
	for _, c := range cmds {
		args = append(args, "-ex", c)
	}
	out, err := exec.Command("gdb", append(args, exe, core)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("gdb %s: %v: apt-get install gdb\n%s", strings.Join(cmds, "; "), err, out)
	}
	return string(out)
}
