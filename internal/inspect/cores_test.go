package inspect_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// programs are those of testdata/programs with an OpenMP team at work.
var programs = []string{
	"barrier", "barrier_for", "barrier_single", "spinning", "lock", "nest_lock", "lock_cycle", "critical", "ordered",
	"reduction",
	"taskwait", "taskgroup", "tasks_queued", "tasks_deps", "nested", "serialized_nested", "roots", "pthreads", "teams",
	"idle", "crash_task",
}

// coreOf makes a kernel core of a program on one version of libomp.
func coreOf(t *testing.T, program string, major int) *omptest.Result {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: program})
	return omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, major), Mode: omptest.Kernel})
}

// configOf opens a core, with the readers of its code.
func configOf(t *testing.T, path string) inspect.Config {
	t.Helper()
	core, err := corefile.Open(path, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	mods, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	procs, err := extended.Open(core, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := inspect.Config{
		About:  picture.Target{Kind: "core", Path: path, CrashedLWP: int(core.Info().CrashedLWP)},
		Target: core, Unwinder: unwind.New(core, core.Arch(), mods),
		Symbolizer: symbolize.New(mods, symbolize.Options{}),
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	return cfg
}

// pictureOf returns the picture of a core.
func pictureOf(t *testing.T, cfg inspect.Config, want picture.Parts) *picture.Picture {
	t.Helper()
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return in.Picture(want)
}
