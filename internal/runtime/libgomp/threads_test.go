package libgomp

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestEndedThreads reads threads that have left the runtime. Their teams were freed, and the memory was reused.
func TestEndedThreads(t *testing.T) {
	for _, of := range omptest.Libgomps(t) {
		t.Run(of.Name, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "ended", Compiler: omptest.GCC})
			c := openTestCore(t, omptest.Run{Exe: exe, Runtime: of, Mode: omptest.Kernel,
				Env: []string{"OMP_NESTED=true"}})
			rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{})
			if err != nil || len(rts) != 1 {
				t.Fatalf("%d runtimes, %v", len(rts), err)
			}
			gone := 0
			for h, err := range rts[0].Threads() {
				if err != nil {
					t.Fatal(err)
				}
				info, err := rts[0].Thread(h)
				if err != nil {
					t.Errorf("LWP %d: %v", info.LWP, err)
				}
				st, err := rts[0].State(h, nil)
				if err != nil {
					t.Errorf("LWP %d: %v", info.LWP, err)
				}
				if strings.Contains(st.Evidence, "its last team is gone") {
					gone++
					if info.Role != picture.RoleIdle || st.State != handles.StateIdle {
						t.Errorf("LWP %d: %v, %v", info.LWP, info, st)
					}
				}
			}
			if gone != 2 {
				t.Errorf("%d threads whose team is gone, not 2", gone)
			}
		})
	}
}
