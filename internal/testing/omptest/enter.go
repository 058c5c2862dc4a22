package omptest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// enterScript is the script for gdb.
//
//go:embed enter.py
var enterScript []byte

// Entered is a core of an ordinary program, taken when the last thread of a team was about to execute its part of
// a parallel region. The others are in the region too: at work, or done and at its end.
type Entered struct {
	Core     string
	PID      int
	Last     int    // LWP of the thread that came last
	Function uint64 // function of the region, the argument of GOMP_parallel
	Return   uint64 // return address of GOMP_parallel
	Threads  []EnteredThread
}

// EnteredThread has the runtime's answers that gdb got in a thread, and the thread's stack.
type EnteredThread struct {
	LWP    int
	Stack  []uint64       // program counters, innermost first
	Told   map[string]int // by name of omp_get_…
	Member int            // its number in the region; it may be in regions within that
}

// PackageFile returns the path of a file of a package of the distribution, which is downloaded but not installed.
// Debian's programs and libraries are stripped.
func PackageFile(tb testing.TB, name, file string) string {
	tb.Helper()
	path := filepath.Join(debianPackage(tb, name), file)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("package %s has changed: %v", name, err)
	}
	return path
}

// DumpInside runs a program of GCC under gdb until the team of its region number fork of level 1 (from 1) is in
// the region, and writes a core. Equal runs share one core.
func DumpInside(tb testing.TB, r Run, fork, team int) *Entered {
	tb.Helper()
	inputs := []any{hashFile(tb, r.Exe), r.Exe, r.Runtime.Lib, r.Args, r.Env, fork, team, string(enterScript)}
	dir := cached(tb, "cores", keyOf(inputs...), func(dir string) {
		enter(tb, r, fork, team, dir)
		addCore(tb, sizeOf(dir))
	})
	text, err := os.ReadFile(filepath.Join(dir, "entered.json"))
	must(tb, err)
	e := Entered{Core: filepath.Join(dir, "core")}
	must(tb, json.Unmarshal(text, &e))
	return &e
}

// enter writes core and entered.json into dir.
func enter(tb testing.TB, r Run, fork, team int, dir string) {
	tb.Helper()
	script := filepath.Join(dir, "enter.py")
	must(tb, os.WriteFile(script, enterScript, 0o644))
	args := []string{"-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load safe-path /", "-iex",
		"set startup-with-shell off"}
	for _, set := range append(r.Env, "LD_LIBRARY_PATH="+r.Runtime.Dir, fmt.Sprintf("OMP_NUM_THREADS=%d", team)) {
		args = append(args, "-iex", "set environment "+set)
	}
	args = append(append(args, "-x", script, "--args", r.Exe), r.Args...)
	run := func(gdb string) ([]byte, error) {
		cmd := exec.Command(gdb, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), fmt.Sprintf("OMPD_FORK=%d", fork), fmt.Sprintf("OMPD_TEAM=%d", team),
			"OMPD_CORE="+filepath.Join(dir, "core"), "OMPD_TRUTH="+filepath.Join(dir, "entered.json"))
		return cmd.CombinedOutput()
	}
	out, err := run("gdb")
	if bytes.Contains(out, []byte("Couldn't write extended state")) {
		// gdb 13 does not support tile registers (AMX): it can call no function on processors that have them.
		out, err = run(GdbOf(tb, "trixie"))
	}
	if _, missing := os.Stat(filepath.Join(dir, "entered.json")); err != nil || missing != nil {
		tb.Fatalf("gdb %s: %v: apt-get install gdb\n%s", r.Exe, err, out)
	}
}
