package diagnose

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findHostFallbacks finds target regions that the host executes, although the program asked for a device. Threads that
// execute the same region are in one verdict.
func findHostFallbacks(x *index) []picture.Verdict {
	var out []picture.Verdict
	at := map[string]int{}
	for i := range x.pic.Threads {
		th := &x.pic.Threads[i]
		t := th.Target
		if t == nil || !t.NoDevice {
			continue
		}
		place := t.Place()
		if n, ok := at[place]; ok {
			out[n].Threads = append(out[n].Threads, th.LWP)
			continue
		}
		at[place] = len(out)
		v := newVerdict(picture.VerdictHostFallback, picture.Certain)
		v.Threads = []int{th.LWP}
		asked := "the default device"
		if t.Device != nil {
			asked = fmt.Sprintf("device %d", *t.Device)
		}
		v.Summary = fmt.Sprintf("target region %s: the program asked for %s, and there is none", place, asked)
		v.Explanation = "A region for which no device is there is executed by the thread that encountered it, alone " +
			"unless the region forks a team."
		if strings.Contains(t.HostReason, "no plugin") {
			v.Fix = "make the plugin for the device (libomptarget.rtl.*) available where the offloading library " +
				"searches: in its own directory, or by LD_LIBRARY_PATH; OMP_TARGET_OFFLOAD=mandatory ends the " +
				"program where no device is there"
		}
		if t.HostReason != "" {
			v.Evidence = append(v.Evidence, t.HostReason)
		}
		v.Evidence = append(v.Evidence, t.Evidence)
		if t.Kernel != "" {
			v.Evidence = append(v.Evidence, "the program has code for devices: "+t.Kernel)
		}
		out = append(out, v)
	}
	for i := range out {
		if n := len(out[i].Threads); n > 1 {
			out[i].Evidence = append(out[i].Evidence, phrase.Count(n, "thread")+" execute it")
		}
	}
	return out
}
