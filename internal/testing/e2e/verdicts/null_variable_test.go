package verdicts

import (
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestNullInPrivateVariable looks at crashes of a worker that uses a null pointer. It is named if the code shows that
// it was loaded from the thread's copy of a threadprivate variable, and only then.
func TestNullInPrivateVariable(t *testing.T) {
	functions := []string{"write_scratch", "read_recent", "read_unset", "read_text", "read_next"}
	for way, name := range []string{"scratch", "recent", "unset", "", ""} {
		for i, run := range handoverRuns(t, "crash_private", strconv.Itoa(way)) {
			if i%3 == 1 {
				continue
			}
			run.Mode = omptest.Kernel
			t.Run(strconv.Itoa(way)+"/"+handoverName(i, run), func(t *testing.T) {
				_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
				has, lacks := []string{"dereferenced a null pointer in " + functions[way] + " "}, []string(nil)
				switch {
				case name == "":
					lacks = []string{"own copy", "copyin", "is not null"}
				case way == 2:
					has, lacks = append(has, "own copy of "+name+","), []string{"copyin", "is not null"}
				default:
					has = append(has, "own copy of "+name+",", "it loaded the pointer from "+name+", at ",
						"copyin("+name+")", "the copy of thread 0 (LWP ")
				}
				checkWords(t, text, has, lacks)
			})
		}
	}
}
