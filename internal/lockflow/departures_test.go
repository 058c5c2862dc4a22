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
