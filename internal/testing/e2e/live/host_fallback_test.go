package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestHostFallbackVerdict looks at target regions for which the program asked for a device that is not there, and at
// those for which it asked for the host, in programs with code for devices. The devices are missing where the library
// finds no plugin; release 19 contains its plugins.
func TestHostFallbackVerdict(t *testing.T) {
	for _, major := range []int{14, 16} {
		exe, runtime := omptest.CompileOffload(t, major, filepath.Join("testdata", helpersSource))
		alone := omptest.WithoutPlugins(t, runtime)
		for _, c := range []struct {
			way      string
			env      []string
			runtime  omptest.Runtime
			fallback bool
		}{
			{way: "3", runtime: alone, fallback: true},
			{way: "3", env: []string{"OMP_TARGET_OFFLOAD=DISABLED"}, runtime: alone},
			{way: "3", env: []string{"OMP_TARGET_OFFLOAD=DISABLED"}, runtime: runtime},
			{way: "4", runtime: alone},
			{way: "4", runtime: runtime},
			{way: "5", runtime: alone},
			{way: "5", runtime: runtime},
		} {
			t.Run(fmt.Sprint(major, c.way, c.env, c.runtime.Dir == alone.Dir), func(t *testing.T) {
				pid := startTarget(t, c.runtime, []string{exe, c.way}, c.env...)
				pic := awaitStates(t, pid, 2, "wait_barrier", "work_")
				i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.Target != nil })
				if i < 0 || !pic.Threads[i].Target.OnHost {
					t.Fatalf("no thread is in a target region on the host: %+v", pic.Threads)
				}
				th := &pic.Threads[i]
				if th.Target.NoDevice != c.fallback {
					t.Errorf("the construct is %+v", th.Target)
				}
				found := slices.DeleteFunc(pic.Verdicts, func(v picture.Verdict) bool {
					return v.Kind != picture.VerdictHostFallback
				})
				const reason = "LLVM's offloading library found no device"
				switch {
				case !c.fallback && len(found) > 0:
					t.Errorf("a fallback is reported: %+v", found)
				case c.fallback && (len(found) != 1 || found[0].Severity != picture.SeverityWarning ||
					!slices.Equal(found[0].Threads, []int{th.LWP}) ||
					!strings.Contains(found[0].Summary, "fallback") ||
					!strings.Contains(strings.Join(found[0].Evidence, "; "), reason)):
					t.Errorf("the verdicts are %+v", found)
				}
			})
		}
	}
}

// TestDefaultDeviceIsHost looks at a program that makes the host the default device: without devices, its number is
// that of the first device, so no fallback is reported.
func TestDefaultDeviceIsHost(t *testing.T) {
	for _, major := range []int{14, 16} {
		exe, runtime := omptest.CompileOffload(t, major, filepath.Join("testdata", "default_device.c"))
		alone := omptest.WithoutPlugins(t, runtime)
		for _, r := range []omptest.Runtime{runtime, alone} {
			t.Run(fmt.Sprint(major, r.Dir == alone.Dir), func(t *testing.T) {
				pic := awaitStates(t, startTarget(t, r, []string{exe}), 2, "wait_barrier", "work_")
				i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.Target != nil })
				if i < 0 || !pic.Threads[i].Target.OnHost || pic.Threads[i].Target.NoDevice {
					t.Errorf("no thread is in a target region on the host, or it has no device: %+v", pic.Threads)
				}
				for _, v := range pic.Verdicts {
					if v.Kind == picture.VerdictHostFallback {
						t.Errorf("a fallback is reported: %+v", v)
					}
				}
			})
		}
	}
}
