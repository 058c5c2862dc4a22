package lockflow

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestDeparturesOfRecursion searches for the departure in two functions that call each other at thirty places.
// Each function is searched once, not once per path through both.
func TestDeparturesOfRecursion(t *testing.T) {
	code := assemble(t, map[string]string{
		"work": "call even",
		"even": strings.Repeat("call odd\n", 30),
		"odd": "first 64\ncall omp_set_lock\nmaybe 2\nfirst 64\ncall omp_unset_lock\n" +
			strings.Repeat("call even\n", 30),
	})
	th := code.thread(1, "work", 0)
	look := NewLook(code.open(nil), func() []*Thread { return []*Thread{th} })
	if len(look.Departures(Lock{rtl.FamilyLock, 64}, []*Thread{th})) == 0 {
		t.Error("no place is told of where the lock is left")
	}
}

// TestKeptLocks searches for the departure in a function that acquires a lock for good on one path. It is none if the
// caller releases the lock.
func TestKeptLocks(t *testing.T) {
	const keeps = "maybe 3\nfirst 64\ncall omp_set_lock\nreturn\n" +
		"first 64\ncall omp_set_lock\nfirst 64\ncall omp_unset_lock"
	const acquired, waits = 2, 5 // lines
	for name, tt := range map[string]struct {
		caller string
		kept   bool
	}{
		"kept":             {"call work", true},
		"kept by a caller": {"call work\ncall omp_get_wtime", true},
		"released":         {"call work\nfirst 64\ncall omp_unset_lock", false},
		"perhaps released": {"call work\nmaybe 2\nfirst 64\ncall omp_unset_lock", false},
	} {
		t.Run(name, func(t *testing.T) {
			code := assemble(t, map[string]string{"work": keeps, "caller": tt.caller})
			th := code.thread(1, "work", waits, "caller", 0)
			look := NewLook(code.open(nil), func() []*Thread { return []*Thread{th} })
			all := look.Departures(Lock{rtl.FamilyLock, 64}, []*Thread{th})
			found := len(all) == 1 && all[0].Call == code.lines["work"][acquired] && all[0].Throws == ""
			if tt.kept && !found || !tt.kept && len(all) > 0 {
				t.Errorf("departures %+v", all)
			}
		})
	}
}
