package text_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestHeader requires the program with its arguments, the times of the process, and the line on the report itself.
func TestHeader(t *testing.T) {
	for name, c := range map[string]struct {
		target     picture.Target
		made, want string
	}{
		"process": {picture.Target{Kind: picture.TargetProcess, PID: 7, Executable: "/bin/sim",
			Command: "/bin/sim -n 4",
			Elapsed: 3 * 3600, CPU: 90, Pause: &picture.Pause{Threads: 2, Stops: 1, Microseconds: 1200}}, "made now",
			"process of /bin/sim (pid 7): running, stopped 2 threads for 1.2 ms\n" +
				"program sim -n 4; started 3.0 h ago, 90.0 s of CPU time\nRUNTIME\nreport made now\n"},
		"no arguments": {picture.Target{Kind: picture.TargetCore, Path: "c", PID: 7, Executable: "/bin/sim",
			Command: "/bin/sim", Signal: "SIGABRT", CPU: 2.5}, "",
			"core of /bin/sim (pid 7): SIGABRT\nprogram sim; 2.5 s of CPU time\nRUNTIME\n"},
		"the name alone": {picture.Target{Kind: picture.TargetCore, Path: "c", PID: 7, Executable: "/bin/sim",
			Command: "/bin/sim", Signal: "SIGABRT"}, "", "core of /bin/sim (pid 7): SIGABRT\nRUNTIME\n"},
		"an interpreter": {picture.Target{Kind: picture.TargetCore, Path: "c", PID: 7,
			Executable: "/usr/bin/python3.11", Command: "python3 fit.py", Signal: "SIGABRT"}, "",
			"core of /usr/bin/python3.11 (pid 7): SIGABRT\nprogram python3 fit.py\nRUNTIME\n"},
	} {
		runtime := picture.Runtime{ID: "libomp", Name: "LLVM OpenMP runtime", Version: "19", Path: "/lib/libomp.so"}
		got := printed(t, func(p *text.Printer, pic *picture.Picture) {
			p.SetMade(c.made)
			text.Header(p, pic)
		}, &picture.Picture{Target: c.target, Runtimes: []picture.Runtime{runtime}}, false, text.NoLimit)
		got = strings.Replace(got, "runtime LLVM OpenMP runtime 19, /lib/libomp.so\n", "RUNTIME\n", 1)
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
