package inspect_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// offByOne is a runtime reader that reads wrong team sizes.
type offByOne struct{ rtl.Runtime }

func (r offByOne) Parallel(p handles.Parallel) (handles.ParallelInfo, error) {
	info, err := r.Runtime.Parallel(p)
	info.TeamSize++
	return info, err
}

// TestNumbers checks Doctor on correct readers, on a wrong one, and on a runtime without its code.
func TestNumbers(t *testing.T) {
	gcc := omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})
	for family, dump := range map[string]*omptest.Result{
		"libomp":  coreOf(t, "nested", 16),
		"libgomp": omptest.Dump(t, omptest.Run{Exe: gcc, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel}),
	} {
		cfg := configOf(t, dump.Core)
		if c := numbers(t, cfg, family); c.Status != picture.CheckOK ||
			!strings.Contains(c.Detail, "are what omp_get_* would return to them") {
			t.Errorf("%s: %+v", family, c)
		}
		cfg.Runtimes = []rtl.Runtime{offByOne{cfg.Runtimes[0]}}
		if c := numbers(t, cfg, family); c.Status != picture.CheckPartly ||
			!strings.Contains(c.Detail, "omp_get_num_threads() would return 3, read is 4") {
			t.Errorf("%s with a wrong reader: %+v", family, c)
		}
	}
}

// numbers returns Doctor's check of the numbers of the one runtime.
func numbers(t *testing.T, cfg inspect.Config, family string) picture.Check {
	t.Helper()
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range in.Doctor() {
		if c.Name == "numbers of "+family {
			return c
		}
	}
	t.Fatalf("doctor does not check the numbers of %s", family)
	return picture.Check{}
}
