package dap_test

import (
	"strings"
	"testing"
)

// TestDroppedParameters requires that a parameter is shown as optimized out if the compiler has left it out of the copy
// of an inlined function: only the function that was inlined declares it.
func TestDroppedParameters(t *testing.T) {
	c, _ := attach(t, golden(t, "llvm-barrier-left"))
	found := 0
	for _, thread := range threads(c) {
		for _, f := range stack(c, thread.Id) {
			if !strings.HasPrefix(f.Name, "main [parallel]") {
				continue
			}
			found++
			who, ok := scope(t, c, f.Id, "Locals")["who"]
			if !ok || who.Type == "" {
				t.Errorf("thread %d: no variable who in %s: %+v", thread.Id, f.Name, who)
			}
		}
	}
	if found == 0 {
		t.Error("no thread is in the region")
	}
}
