package lockflow

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestReleases checks whether a thread that has not acquired lock 64 may release it, from different places.
func TestReleases(t *testing.T) {
	code := assemble(t, map[string]string{
		"work":  "call pause",
		"hands": "call work\nfirst 64\ncall omp_unset_lock",
		"legal": "call work\nfirst 64\ncall omp_set_lock\ncall work\nfirst 64\ncall omp_unset_lock",
		"some":  "call work\nmaybe 2\nfirst 64\ncall omp_set_lock\ncall work\nfirst 64\ncall omp_unset_lock",
		"other": "call work\nfirst 65\ncall omp_unset_lock",
		"take":  "first 64\ncall omp_set_lock",
		"give":  "first 64\ncall omp_unset_lock",
		"calls": "call work\ncall give",
		"pair":  "call work\ncall take\ncall work\ncall give",
		"swap":  "call work\nfirst 65\ncall omp_set_lock\nfirst 64\ncall omp_unset_lock",
		"waits": "first 64\ncall omp_set_lock\ncall work\nfirst 64\ncall omp_unset_lock",
		"inner": "call work\nfirst 64\ncall omp_set_lock",
		"outer": "call inner\nfirst 64\ncall omp_unset_lock",
		"quiet": "call work",
		"above": "call quiet\nfirst 64\ncall omp_unset_lock",
		"forks": "call work\nhand hands\ncall GOMP_parallel",
		"forms": "hand hands\ncall GOMP_parallel",
		"made":  "call work\nfirst 64\ncall omp_destroy_lock",
		"of":    "call omp_unset_lock",
		"given": "call work\nfirst 64\ncall of",
		"any":   "call work\nresult 0\ncall omp_unset_lock",
		"gone":  "first 64\ncall omp_unset_lock\ncall give\ncall work",
		"again": "first 64\ncall omp_unset_lock\ncall work\ncall again",
	})
	tests := []struct {
		name  string
		calls []any
		want  string
	}{
		{"before a release", []any{"work", 0, "hands", 0}, "known"},
		{"in the release", []any{"hands", 2}, "known"},
		{"before an acquisition", []any{"work", 0, "legal", 0}, "none"},
		{"behind the acquisition", []any{"work", 0, "legal", 3}, "none"},
		{"acquired on some paths before", []any{"work", 0, "some", 4}, "known"},
		{"a release of another lock", []any{"work", 0, "other", 0}, "none"},
		{"a function that releases it", []any{"work", 0, "calls", 0}, "known"},
		{"behind functions that acquire and release it", []any{"work", 0, "pair", 0}, "none"},
		{"between the two functions", []any{"work", 0, "pair", 2}, "none"},
		{"behind an acquisition of another lock", []any{"work", 0, "swap", 0}, "known"},
		{"waits for the lock", []any{"waits", 1}, "none"},
		{"the function that it calls acquires it", []any{"work", 0, "inner", 0, "outer", 0}, "none"},
		{"the function that it calls does not", []any{"work", 0, "quiet", 0, "above", 0}, "known"},
		{"a function that is handed to another", []any{"work", 0, "forks", 0}, "known"},
		{"in the call that it is handed to", []any{"forms", 1}, "known"},
		{"a lock that is destroyed", []any{"work", 0, "made", 0}, "none"},
		{"a function that releases its argument", []any{"work", 0, "given", 0}, "known"},
		{"released before", []any{"work", 0, "gone", 3}, "none"},
		{"released before, and then it calls itself", []any{"work", 0, "again", 2}, "known"},
		{"it is not known which", []any{"work", 0, "any", 0}, "perhaps"},
	}
	p := code.open(nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			look := NewLook(p, func() []*Thread { return []*Thread{code.thread(7, tt.calls...)} })
			got := "none"
			if rs := look.Releases(Lock{rtl.FamilyLock, 64}); len(rs) > 0 {
				got = map[bool]string{true: "known", false: "perhaps"}[rs[0].Known]
			}
			if got != tt.want {
				t.Errorf("the thread may release the lock: %s, want %s", got, tt.want)
			}
		})
	}
	for name, want := range map[string]bool{"hands": true, "legal": false, "pair": false, "swap": true, "calls": true} {
		if _, ok := p.FunctionReleases(code.entry(name), Lock{rtl.FamilyLock, 64}); ok != want {
			t.Errorf("%s may release the lock: %t, want %t", name, ok, want)
		}
	}
}

// TestReleasesOfLargeGroup checks functions that call each other: what a group of more than maxCircle functions
// releases is not found. A thread that may still call one counts as one that may release a lock of the family.
func TestReleasesOfLargeGroup(t *testing.T) {
	for _, tt := range []struct {
		functions int
		release   string // in one of them
		lock      Lock
		want      string
	}{
		{maxCircle, "first 64\ncall omp_unset_lock\n", Lock{rtl.FamilyLock, 64}, "known"},
		{maxCircle, "first 65\ncall omp_unset_lock\n", Lock{rtl.FamilyLock, 64}, "none"},
		{maxCircle + 1, "first 64\ncall omp_unset_lock\n", Lock{rtl.FamilyLock, 64}, "none"},
		{maxCircle + 1, "", Lock{rtl.FamilyLock, 64}, "none"},
	} {
		functions := map[string]string{"work": "call pause", "above": "call work\ncall f0"}
		for i := range tt.functions {
			functions[fmt.Sprintf("f%d", i)] = fmt.Sprintf("maybe 2\ncall f%d\n", (i+1)%tt.functions)
		}
		functions["f1"] = tt.release + functions["f1"]
		code := assemble(t, functions)
		p := code.open(nil)
		look := NewLook(p, func() []*Thread { return []*Thread{code.thread(7, "work", 0, "above", 0)} })
		got := "none"
		if rs := look.Releases(tt.lock); len(rs) > 0 {
			got = map[bool]string{true: "known", false: "perhaps"}[rs[0].Known]
		}
		what := fmt.Sprintf("%d functions with %q, lock %+v", tt.functions, tt.release, tt.lock)
		if got != tt.want {
			t.Errorf("%s: the thread may release it: %s, want %s", what, got, tt.want)
		}
		th := code.thread(7, "work", 0, "above", 0)
		if may := p.MayRelease(th, tt.lock.Family); may != (tt.release != "") {
			t.Errorf("%s: the thread may release a lock of the family: %v", what, may)
		}
		r, ok := p.FunctionReleases(code.entry("f0"), tt.lock)
		if ok != (tt.want != "none") || ok && len(r.Calls) == 0 {
			t.Errorf("%s: f0 may release it: %v, %+v", what, ok, r)
		}
	}
}
