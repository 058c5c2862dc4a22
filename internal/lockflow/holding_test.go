package lockflow

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestReleasedOnReturn checks whether code that may have acquired lock 64 can return without a release.
func TestReleasedOnReturn(t *testing.T) {
	const take, give, work = "first 64\ncall omp_set_lock\n", "first 64\ncall omp_unset_lock\n", "call work\n"
	const pick, drop = "call pick\ncall omp_set_lock\n", "call pick\ncall omp_unset_lock\n" // an unknown lock
	code := assemble(t, map[string]string{
		"work":   "call pause",
		"always": "maybe 2\n" + take + work + give,
		"some":   "maybe 2\n" + take + work + "maybe 2\n" + give,
		"early":  "maybe 2\n" + take + work + "maybe 1\nreturn\n" + give,
		"never":  "maybe 2\n" + take + work,
		"other":  "maybe 2\n" + take + work + "first 65\ncall omp_unset_lock\n",
		"within": "maybe 2\n" + take + "first 65\ncall omp_set_lock\n" + work +
			"first 65\ncall omp_unset_lock\n" + give,
		"unknown": pick + work + drop,
		"nested":  pick + pick + work + drop + drop,
		"lost":    pick + pick + work + drop,
		"ends":    "maybe 2\n" + take + work + "maybe 1\ncall abort\n" + give,
	})
	p := code.open(nil)
	for _, tt := range []struct {
		name string
		line int // of the call that the thread is in
		want bool
	}{
		{"always", 3, true}, {"some", 3, false}, {"early", 3, false}, {"never", 3, false}, {"other", 3, false},
		{"within", 5, true}, {"unknown", 2, true}, {"nested", 4, true}, {"lost", 4, false}, {"ends", 3, true},
	} {
		look := NewLook(p, func() []*Thread { return []*Thread{code.thread(7, "work", 0, tt.name, tt.line)} })
		hs := look.Holders(Lock{rtl.FamilyLock, 64})
		if len(hs) != 1 || hs[0].Certainty != Possible || hs[0].ReleasedOnReturn != tt.want {
			t.Errorf("%s: holders %+v, want a possible one, released on return: %v", tt.name, hs, tt.want)
		}
	}
}
