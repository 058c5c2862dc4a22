package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestFallbackVerdicts checks target regions on the host, with and without a device that the program asked for.
func TestFallbackVerdicts(t *testing.T) {
	region := func(noDevice bool, reason string, threads ...int) func(scene) {
		return func(s scene) {
			for _, lwp := range threads {
				s.Threads[lwp-1].Target = &picture.TargetConstruct{
					Construct: "target", Function: "scale", Line: 7, Executes: true, OnHost: true,
					Call: "__tgt_target_kernel", DefaultDevice: true, HostReason: reason, NoDevice: noDevice,
				}
			}
		}
	}
	const kind = picture.VerdictHostFallback
	check(t, []scenario{
		{"the host was asked for", 2, region(false, "OMP_TARGET_OFFLOAD=disabled", 2), nil},
		{"no plugin", 2, region(true, "no plugin is loaded", 2), []want{
			warning(kind, "LD_LIBRARY_PATH", "scale line 7 on the host: the program asked for the default device", 2)}},
		{"no device", 2, region(true, "", 2), []want{warning(kind, "CUDA_VISIBLE_DEVICES", "there is none", 2)}},
		{"two threads", 3, region(true, "", 2, 3), []want{warning(kind, "CUDA_VISIBLE_DEVICES", "2 threads", 2, 3)}},
	})
}
