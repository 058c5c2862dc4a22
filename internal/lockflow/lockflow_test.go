package lockflow

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// functions are the functions of most tests: update holds lock 64 while it calls work.
var functions = map[string]string{
	"work": "call pause",
	"update": `first 64
		call omp_set_lock
		call work
		first 64
		call omp_unset_lock`,
	"wrapped": `call take
		call work
		call give`,
	"take": "first 64\ncall omp_set_lock",
	"give": "first 64\ncall omp_unset_lock",
	"perhaps": `maybe 2
		first 64
		call omp_set_lock
		call work`,
	"unsure": `first 64
		call omp_set_lock
		indirect
		call work`,
	"strange": `first 64
		call pthread_mutex_lock
		call pthread_mutex_frobnicate
		call work`,
	"handed": `first 64
		call omp_set_lock
		hand give
		call qsort
		call work`,
	"once": `first 64
		call omp_set_lock
		second work
		call call_once
		call work`,
	"proxy": `first 64
		call omp_set_lock
		call pthread_once
		call work`,
	"mpi": `first 64
		call omp_set_lock
		call opaque_send
		call work`,
	"again": `first 64
		call omp_set_lock
		call update
		call work`,
	"finish": `first 65
		call omp_set_lock
		call omp_unset_lock
		first 64
		call omp_unset_lock
		call work`,
	"settle": `call finish`,
	"begun": `first 64
		call omp_set_lock
		call settle
		call work`,
	"reset": "maybe 2\nfirst 64\ncall omp_init_lock",
	"made":  "call reset\ncall work",
	"kept":  "first 64\ncall omp_set_lock\ncall reset\ncall work",
	"try":   "maybe 2\nfirst 64\ncall omp_set_lock",
	"tried": "first 64\ncall omp_set_lock\ncall try\ncall work",
	"tries": "call try\ncall work",
	"thrown": `first 64
		call omp_set_lock
		maybe 1
		call longjmp
		call work`,
}

// TestHolders finds the holder of lock 64 among threads at different places.
func TestHolders(t *testing.T) {
	lock, mutex := Lock{rtl.FamilyLock, 64}, Lock{rtl.FamilyMutex, 64}
	tests := []struct {
		name  string
		calls []any
		lock  Lock
		want  string
	}{
		{"between the calls", []any{"work", 0, "update", 2}, lock, "certain"},
		{"at the call that takes it", []any{"update", 1}, lock, "none"},
		{"at the call that gives it back", []any{"update", 4}, lock, "none"},
		{"another lock", []any{"update", 2}, Lock{rtl.FamilyLock, 65}, "none"},
		{"another family", []any{"update", 2}, Lock{rtl.FamilyNest, 64}, "none"},
		{"taken in a function of its own", []any{"work", 0, "wrapped", 1}, lock, "certain"},
		{"in that function", []any{"take", 1, "wrapped", 0}, lock, "none"},
		{"on some paths", []any{"work", 0, "perhaps", 3}, lock, "possible"},
		{"behind a call that is not known", []any{"work", 0, "unsure", 3}, lock, "likely"},
		{"behind a call that looks like one for locks", []any{"work", 0, "strange", 3}, mutex, "likely"},
		{"behind a call that runs a function once", []any{"work", 0, "once", 4}, lock, "certain"},
		{"the same, of a function that is not known", []any{"work", 0, "proxy", 3}, lock, "likely"},
		{"behind a call that is handed a function which gives it back", []any{"work", 0, "handed", 4}, lock, "likely"},
		{"behind a call of MPI", []any{"work", 0, "mpi", 3}, lock, "certain"},
		{"at a call that takes it again, in a function that gives it back", []any{"update", 1, "again", 2}, lock,
			"certain"},
		{"in a call that has not yet given it back", []any{"finish", 1, "settle", 0, "begun", 2}, lock, "certain"},
		{"in a call that has given it back", []any{"work", 0, "finish", 5, "settle", 0, "begun", 2}, lock, "none"},
		{"behind a call that can only give it back", []any{"work", 0, "made", 1}, lock, "none"},
		{"taken, behind a call that perhaps gave it back", []any{"work", 0, "kept", 3}, lock, "possible"},
		{"taken, behind a call that could only take it", []any{"work", 0, "tried", 3}, lock, "certain"},
		{"behind a call that perhaps takes it", []any{"work", 0, "tries", 1}, lock, "possible"},
		{"behind a call that does not return", []any{"work", 0, "thrown", 4}, lock, "certain"},
	}
	code := assemble(t, functions)
	p := code.open(nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			look := NewLook(p, func() []*Thread { return []*Thread{code.thread(7, tt.calls...)} })
			got := "none"
			if hs := look.Holders(tt.lock); len(hs) > 0 {
				got = [...]string{"certain", "likely", "possible"}[hs[0].Certainty]
			}
			if got != tt.want {
				t.Errorf("the thread has the lock: %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRunningCalls checks threads that work before a call that runs a function, in this thread or in another one, and
// whether they may return.
func TestRunningCalls(t *testing.T) {
	code := assemble(t, map[string]string{
		"work": "return", "wake": "call pthread_cond_signal", "plain": "call pause",
		"early": "call wake\ncall work", "later": "call work\ncall wake", "ends": "call work\ncall abort",
		"starts": "call work\ncall pthread_create", "plainly": "call work\nsecond plain\ncall thrd_create",
		"waking": "call work\nsecond wake\ncall thrd_create", "unknown": "call work\ncall thrd_create",
		"timer": "call work\ncall timer_create", "sorts": "call work\ncall qsort",
		"thread": "call work\ncall _ZNSt6thread15_M_start_threadESt10unique_ptr",
	})
	p := code.open(nil)
	for function, want := range map[string]bool{
		"later": true, "starts": true, "plainly": false, "waking": true, "unknown": true, "timer": true,
		"sorts": true, "thread": true, "ends": false,
	} {
		th := code.thread(7, "work", 0, function, 0)
		if got := p.MayRelease(th, rtl.FamilyCondition); got != want {
			t.Errorf("in %s, the thread may wake others: %v, want %v", function, got, want)
		}
		if got, want := p.MayReturn(th), function != "ends"; got != want {
			t.Errorf("in %s, the thread may return: %v, want %v", function, got, want)
		}
	}
	if p.MayRelease(code.thread(7, "work", 0, "early", 1), rtl.FamilyCondition) {
		t.Error("the thread may wake others by a call that it has made before")
	}
}

// TestMayReleaseByNumber checks a thread that comes to a release only if its number in the team is 0.
func TestMayReleaseByNumber(t *testing.T) {
	const first = "call work\ncall omp_get_thread_num\nzero 2\nfirst 64\ncall omp_unset_lock"
	code := assemble(t, map[string]string{"work": "return", "first": first,
		"master":     "call work\ncall __kmpc_master\nzero 1\nreturn\nfirst 64\ncall omp_unset_lock",
		"serialized": first + "\ncall __kmpc_serialized_parallel"})
	for _, tt := range []struct {
		function string
		number   int
		want     bool
	}{
		{"first", 0, true}, {"first", 1, false}, {"first", anyNumber, true}, {"first", maxNumbers, true},
		{"master", 0, true}, {"master", 1, false}, {"serialized", 1, true},
	} {
		p := code.open(nil)
		for range 2 { // the second answer is kept
			th := code.thread(1, "work", 0, tt.function, 0)
			th.Frames[1].Numbered, th.Frames[1].Number = tt.number != anyNumber, tt.number
			released := NewLook(p, func() []*Thread { return []*Thread{th} }).Releases(Lock{rtl.FamilyLock, 64})
			if got := p.MayRelease(th, rtl.FamilyLock); got != tt.want || (len(released) > 0) != tt.want {
				t.Errorf("thread %d in %s may release a lock: %v, %v, want %v", tt.number, tt.function, got, released,
					tt.want)
			}
		}
	}
}

// TestMayRelease checks the families of locks that threads at different places may still release.
func TestMayRelease(t *testing.T) {
	code := assemble(t, map[string]string{
		"work":    "call pause",
		"later":   "call work\ncall omp_unset_lock",
		"behind":  "call omp_unset_lock\ncall work",
		"even":    "call odd\ncall omp_unset_lock",
		"odd":     "call even",
		"toeven":  "call work\ncall even",
		"toodd":   "call work\ncall odd",
		"forks":   "call work\nhand later\ncall GOMP_parallel",
		"sends":   "call work\ncall opaque_send",
		"jumps":   "call work\nindirect",
		"signals": "call work\ncall cnd_signal",
		"nowhere": "call work\ncall pause",
	})
	tests := []struct {
		function, family string
		want             bool
	}{
		{"later", rtl.FamilyLock, true}, {"later", rtl.FamilyNest, false}, {"behind", rtl.FamilyLock, false},
		{"toeven", rtl.FamilyLock, true}, {"toodd", rtl.FamilyLock, true},
		{"forks", rtl.FamilyLock, true}, {"forks", rtl.FamilyCondition, false},
		{"sends", rtl.FamilyLock, false}, {"sends", rtl.FamilyCondition, true},
		{"jumps", rtl.FamilyLock, true}, {"jumps", rtl.FamilyEvent, true},
		{"signals", rtl.FamilyCondition, true}, {"signals", rtl.FamilyLock, false},
		{"nowhere", rtl.FamilyLock, false}, {"nowhere", rtl.FamilyMutex, false},
	}
	for _, reverse := range []bool{false, true} { // earlier questions do not change an answer
		p := code.open(nil)
		if reverse {
			slices.Reverse(tests)
		}
		for _, tt := range tests {
			line := 0
			if tt.function == "behind" {
				line = 1
			}
			th := code.thread(1, "work", 0, tt.function, line)
			if got := p.MayRelease(th, tt.family); got != tt.want {
				t.Errorf("a thread in %s may release a %s: %v, want %v", tt.function, tt.family, got, tt.want)
			}
			th.Whole = false
			if !p.MayRelease(th, tt.family) {
				t.Errorf("a thread in %s may not release a %s, though its stack is cut", tt.function, tt.family)
			}
		}
	}
}

// TestOnce finds the holders of a lock among many threads at the same places: the code is followed once.
func TestOnce(t *testing.T) {
	const threads = 1024
	code := assemble(t, functions)
	meter := &counter{}
	p := code.open(meter)
	var one, all int
	for _, n := range []int{1, threads} {
		var list []*Thread
		for id := range n {
			list = append(list, code.thread(id, "work", 0, "update", 2))
		}
		hs := NewLook(p, func() []*Thread { return list }).Holders(Lock{rtl.FamilyLock, 64})
		if len(hs) != n {
			t.Errorf("%d of %d threads have the lock", len(hs), n)
		}
		one, all = all, meter.work
	}
	if one == 0 || all != one {
		t.Errorf("%d units of work for one thread, %d for %d more", one, all-one, threads)
	}
}

// counter is a Meter that only counts.
type counter struct{ work int }

func (c *counter) Spend(work int) error {
	c.work += work
	return nil
}

// TestSpent has no budget for work: no holders are found, any lock may be released, and the skipped functions
// are counted.
func TestSpent(t *testing.T) {
	code := assemble(t, functions)
	p := code.open(spent{})
	th := code.thread(1, "work", 0, "update", 2)
	if hs := NewLook(p, func() []*Thread { return []*Thread{th} }).Holders(Lock{rtl.FamilyLock, 64}); len(hs) > 0 {
		t.Errorf("%d threads have the lock", len(hs))
	}
	for _, f := range familyNames {
		if !p.MayRelease(th, f) {
			t.Errorf("the thread may release no %s", f)
		}
	}
	if p.Cut() != 2 {
		t.Errorf("%d functions were not looked at, want 2", p.Cut())
	}
	if !p.FunctionMayRelease(code.entries["work"], rtl.FamilyEvent) {
		t.Error("a function that was not looked at fulfils no event")
	}
	p.Retarget(Config{Arch: p.cfg.Arch, Mem: code, Code: code})
	if p.MayRelease(th, rtl.FamilyEvent) || p.Cut() != 0 {
		t.Error("what was cut stays cut")
	}
}

// BenchmarkHolders finds the holders of a lock among 1,024 threads in code that was already followed.
func BenchmarkHolders(b *testing.B) {
	code := assemble(b, functions)
	p := code.open(nil)
	var list []*Thread
	for id := range 1024 {
		list = append(list, code.thread(id, "work", 0, []string{"update", "wrapped"}[id%2], 2-id%2))
	}
	for b.Loop() {
		if n := len(NewLook(p, func() []*Thread { return list }).Holders(Lock{rtl.FamilyLock, 64})); n != len(list) {
			b.Fatalf("%d threads have the lock, want %d", n, len(list))
		}
	}
}
