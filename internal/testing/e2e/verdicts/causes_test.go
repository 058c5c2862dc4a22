package verdicts

import (
	"bytes"
	"debug/elf"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// hangOf looks at a program that hangs, and returns the kinds of the hang verdicts and their text.
func hangOf(t *testing.T, run omptest.Run) (kinds []picture.VerdictKind, words string) {
	t.Helper()
	status, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
	kinds, words = hangsIn(pic)
	if want := len(kinds) > 0; want != (status == cli.ExitFound) {
		t.Errorf("exit status %d with hangs %v", status, kinds)
	}
	return kinds, words
}

// hangsIn returns the kinds of the hangs in a picture, and the text of its verdicts.
func hangsIn(pic *picture.Picture) (kinds []picture.VerdictKind, words string) {
	for _, v := range pic.Verdicts {
		if diagnose.Hangs(v) {
			kinds = append(kinds, v.Kind)
		}
	}
	var b bytes.Buffer
	text.Verdicts(text.New(&b, false, text.NoLimit), pic)
	return kinds, b.String()
}

// checkWords requires words in a text, and others not to be there.
func checkWords(t *testing.T, words string, has, lacks []string) {
	t.Helper()
	for _, s := range has {
		if !strings.Contains(words, s) {
			t.Errorf("the text lacks %q:\n%s", s, words)
		}
	}
	for _, s := range lacks {
		if strings.Contains(words, s) {
			t.Errorf("the text contains %q:\n%s", s, words)
		}
	}
}

// TestUncaughtExceptionsExplainNoLeak looks at deadlocks in code with calls that may throw, where no handler would
// catch the exception: it is no explanation. Where one has caught it, it is.
func TestUncaughtExceptionsExplainNoLeak(t *testing.T) {
	for way, name := range []string{"guards", "allocation", "noexcept", "caught"} {
		for i, run := range handoverRuns(t, "verdict_lock_thrown", strconv.Itoa(way)) {
			t.Run(name+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				want, has, lacks := picture.VerdictDeadlock, []string{"2 threads wait for each other"},
					[]string{"exception", "without releasing"}
				if name == "caught" {
					want, lacks = picture.VerdictLockOrphaned, nil
					has = []string{"by an exception (__cxa_throw) out of the call at " +
						"Graph::add verdict_lock_thrown.cc:93"}
				}
				if !slices.Equal(kinds, []picture.VerdictKind{want}) {
					t.Errorf("hangs %v, want %s", kinds, want)
				}
				checkWords(t, words, has, lacks)
			})
		}
		for i, run := range handoverRuns(t, "verdict_lock_thrown", strconv.Itoa(way), "1") {
			t.Run(name+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				if kinds, words := hangOf(t, run); len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
				}
			})
		}
	}
}

// TestThrowThroughPointer looks at locks that an exception left out of code that was called through a pointer, where
// another function may throw, too: both are named, the one in the function with the waiting threads first. Where such
// calls threw nothing, they are no explanation.
func TestThrowThroughPointer(t *testing.T) {
	const program, throws = "verdict_lock_codec", ", or by an exception (__cxa_throw) out of the call at reserve "
	for way, call := range []string{"encode", "sift", "hand_on", ""} {
		for i, run := range handoverRuns(t, program, strconv.Itoa(way)) {
			t.Run(strconv.Itoa(way)+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				want, has, lacks := picture.VerdictDeadlock, []string{"2 threads wait for each other"},
					[]string{"exception", "without releasing"}
				if call != "" {
					at := call + " " + program + ".cc:" + strconv.Itoa(72+6*way)
					want, lacks = picture.VerdictLockOrphaned, nil
					has = []string{"by an exception out of the call at " + at +
						", which executes unknown code through a pointer", "a guard object"}
					if way < 2 {
						has[0] += throws + program + ".cc:63"
					}
				}
				if !slices.Equal(kinds, []picture.VerdictKind{want}) {
					t.Errorf("hangs %v, want %s", kinds, want)
				}
				checkWords(t, words, has, lacks)
			})
		}
		for i, run := range handoverRuns(t, program, strconv.Itoa(way), "1") {
			t.Run(strconv.Itoa(way)+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program", kinds)
				}
				checkWords(t, words, nil, []string{"exception", "without releasing"})
			})
		}
	}
}

// TestThrowInColdPart looks at a lock that a function left by an exception which it throws itself: compilers move that
// code into a part of its own.
func TestThrowInColdPart(t *testing.T) {
	const program = "verdict_lock_cold"
	for i, run := range handoverRuns(t, program) {
		t.Run(handoverName(i, run), func(t *testing.T) {
			if name := "_ZN5Store6settleEi.cold"; i == 3 && !hasSymbol(t, run.Exe, name) {
				t.Errorf("the executable has no %s", name)
			}
			kinds, words := hangOf(t, run)
			if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictLockOrphaned}) {
				t.Errorf("hangs %v, want %s", kinds, picture.VerdictLockOrphaned)
			}
			checkWords(t, words, []string{"by an exception (__cxa_throw) out of the call at Store::settle " + program +
				".cc:43"}, nil)
		})
	}
	for i, run := range handoverRuns(t, program, "1") {
		t.Run("healthy/"+handoverName(i, run), func(t *testing.T) {
			kinds, words := hangOf(t, run)
			if len(kinds) > 0 {
				t.Errorf("hangs %v of a healthy program", kinds)
			}
			checkWords(t, words, nil, []string{"exception", "without releasing"})
		})
	}
}

// TestThrowAtAnotherCall looks at a lock that an exception left in another function than that in which the threads wait
// for it. In the second program, GCC puts the handler of the exception into one part with code that ends the program.
func TestThrowAtAnotherCall(t *testing.T) {
	for program, call := range map[string]string{
		"verdict_lock_elsewhere": "Account::withdraw verdict_lock_elsewhere.cc:44",
		"verdict_lock_recover":   "borrow verdict_lock_recover.cc:26",
	} {
		for i, run := range handoverRuns(t, program) {
			t.Run(program+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictLockOrphaned}) {
					t.Errorf("hangs %v, want %s", kinds, picture.VerdictLockOrphaned)
				}
				checkWords(t, words, []string{"by an exception (__cxa_throw) out of the call at " + call},
					[]string{"truth_slot"})
			})
		}
		for i, run := range handoverRuns(t, program, "1") {
			t.Run(program+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program", kinds)
				}
				checkWords(t, words, nil, []string{"exception", "without releasing"})
			})
		}
	}
}

// TestKeptByFlag looks at two threads that keep a lock by a flag of one byte, beside a variable whose address was
// passed on: the frames show the flag.
func TestKeptByFlag(t *testing.T) {
	const program = "verdict_lock_flag"
	for i, run := range handoverRuns(t, program) {
		t.Run(handoverName(i, run), func(t *testing.T) {
			kinds, words := hangOf(t, run)
			if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictDeadlock}) {
				t.Errorf("hangs %v, want %s", kinds, picture.VerdictDeadlock)
			}
			checkWords(t, words, []string{"waits for lock shelves[0]", "waits for lock shelves[1]",
				"acquired it with omp_set_lock in move(int, int) at " + program + ".cc:41"}, []string{"not known"})
		})
	}
	for i, run := range handoverRuns(t, program, "1") {
		t.Run("healthy/"+handoverName(i, run), func(t *testing.T) {
			if kinds, words := hangOf(t, run); len(kinds) > 0 {
				t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
			}
		})
	}
}

// hasSymbol reports whether an executable has a symbol.
func hasSymbol(t *testing.T, exe, name string) bool {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
}

// TestMemoryThatIsNoLock looks at programs whose threads wait for memory that no lock is in: past the end of the array
// of locks, in malloc's data and in another block, and in a block that was freed. GNU's runtime takes it for a lock
// that is held.
func TestMemoryThatIsNoLock(t *testing.T) {
	for way, has := range [][]string{
		{"3 threads wait for lock at 0x", "which is no lock", "in malloc's data after the block of 264 bytes",
			"check the index of the lock"},
		{"3 threads wait for lock at 0x", "which are no locks", " bytes past the end of the block of 264 bytes",
			"it would be element 74 of g.locks in main, which has 66 elements"},
		{"whose memory has been freed", "it is in a thread's cache of free blocks"},
	} {
		for i, run := range handoverRuns(t, "verdict_lock_outside", strconv.Itoa(way)) {
			if i%3 != 0 { // LLVM's runtime crashes
				continue
			}
			t.Run(strconv.Itoa(way)+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictLockFreed}) {
					t.Errorf("hangs %v, want one %s", kinds, picture.VerdictLockFreed)
				}
				checkWords(t, words, has, []string{"DEADLOCK", "ORPHANED", "left the code"})
			})
		}
		for i, run := range handoverRuns(t, "verdict_lock_outside", strconv.Itoa(way), "1") {
			t.Run(strconv.Itoa(way)+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program", kinds)
				}
				checkWords(t, words, nil, []string{"no lock", "freed"})
			})
		}
	}
}

// TestMemoryPastArrays looks at threads that take an element past the end of an array of locks in a variable: global,
// static, on the stack, in a structure, or through a pointer.
func TestMemoryPastArrays(t *testing.T) {
	const past = "from which the code takes an element"
	for way, has := range [][]string{
		{" table (", "lock cells[32]"}, {" own (", "lock cells[32]"}, {" grid (", "lock grid.cells[4]"},
		{" rows (", "lock cells["}, {" stack in main ("}, {" table (", "lock cells[32]"},
		{" table (", "lock cells[32]"},
	} {
		for i, run := range handoverRuns(t, "verdict_lock_static", strconv.Itoa(way)) {
			if i%3 == 1 {
				continue
			}
			t.Run(strconv.Itoa(way)+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictLockFreed}) {
					t.Errorf("hangs %v, want one %s", kinds, picture.VerdictLockFreed)
				}
				checkWords(t, words, append(has, "which is no lock", past, "check the index"),
					[]string{"DEADLOCK", "ORPHANED"})
			})
			run.Args = append(run.Args, "1")
			t.Run(strconv.Itoa(way)+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program", kinds)
				}
				checkWords(t, words, nil, []string{"no lock"})
			})
		}
	}
}

// TestArrayOfLocksPastAnother looks at a thread that takes an element past the end of an array of locks, which is the
// element of another array of locks that it holds: that lock is valid, and is named by its own array.
func TestArrayOfLocksPastAnother(t *testing.T) {
	for i, run := range handoverRuns(t, "verdict_lock_static", "7") {
		if i%3 == 1 {
			continue
		}
		t.Run(handoverName(i, run), func(t *testing.T) {
			kinds, words := hangOf(t, run)
			if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictSelfDeadlock}) {
				t.Errorf("hangs %v, want one %s", kinds, picture.VerdictSelfDeadlock)
			}
			has := []string{"waits for lock beside[4]", "which it holds itself", " verdict_lock_static.c:80"}
			checkWords(t, words, has, []string{"no lock", "ORPHANED", "table["})
		})
		run.Args = append(run.Args, "1")
		t.Run("healthy/"+handoverName(i, run), func(t *testing.T) {
			if kinds, words := hangOf(t, run); len(kinds) > 0 {
				t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
			}
		})
	}
}

// TestPoolOfLocks looks at threads that wait for locks of a pool, whose index is a remainder: one of them holds the
// lock that all wait for. Idle threads of a pool of threads have no part in it.
func TestPoolOfLocks(t *testing.T) {
	crew := omptest.Library(t, "crew_library")
	collide := []string{"which one of them holds itself", "in rows verdict_lock_collide.cc:74 and waits for it again",
		"at line 81"}
	// The numbers are still in memory, and the code of this compiler keeps their addresses: the lock is known.
	known := []string{"thread 0 (LWP", "waits for lock p.locks[2]", "which it holds itself",
		"therefore 3 wait for lock", "at verdict_lock_collide.cc:74, not released on any path from there to line 81"}
	for _, c := range []struct {
		name, way, crew string
		kind            picture.VerdictKind
		has, lacks      []string
	}{
		{name: "alone", way: "0", crew: "0", kind: picture.VerdictSelfDeadlock, has: collide},
		{name: "threads", way: "0", crew: "1", kind: picture.VerdictSelfDeadlock, has: collide},
		{name: "library", way: "0", crew: "2", kind: picture.VerdictSelfDeadlock, has: collide,
			lacks: []string{"waiting behind"}},
		{name: "left", way: "1", crew: "0", kind: picture.VerdictLockOrphaned,
			has: []string{"which nobody will release"}, lacks: []string{"itself"}},
	} {
		for _, twin := range []string{"0", "1"} {
			for i, run := range handoverRuns(t, "verdict_lock_collide", c.way, c.crew, twin) {
				if i%3 == 1 {
					continue
				}
				run.Env = append(run.Env, "OMPD_CREW="+crew)
				t.Run(c.name+"_"+twin+"/"+handoverName(i, run), func(t *testing.T) {
					kinds, words := hangOf(t, run)
					if twin == "1" {
						if len(kinds) > 0 {
							t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
						}
						return
					}
					lacks := append(c.lacks, "only these may still release", "condition variable")
					if !slices.Equal(kinds, []picture.VerdictKind{c.kind}) {
						t.Errorf("hangs %v, want %s", kinds, c.kind)
					}
					has := append([]string{"4 threads wait for lock"}, c.has...)
					if c.kind == picture.VerdictSelfDeadlock && strings.HasPrefix(handoverName(i, run), "clang-O2") {
						has = known
					}
					checkWords(t, words, has, lacks)
				})
			}
		}
	}
}

// TestUnreleasedBarrier looks at a barrier that LLVM's runtime does not release, and at healthy barriers with tasks, at
// random moments.
func TestUnreleasedBarrier(t *testing.T) {
	looks := omptest.Number(t, "handovers", 10)
	for _, level := range []string{"-O0", "-O2"} {
		exe := omptest.Compile(t, omptest.Build{Program: "verdict_unreleased", Flags: []string{level, "-g"}})
		run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live}
		t.Run("hang"+level, func(t *testing.T) {
			pid := strconv.Itoa(omptest.Start(t, run).PID)
			out := ""
			for status := cli.ExitOK; status == cli.ExitOK; { // its threads may be on their way to the barrier
				status, out, _ = e2e.Output(t, "diagnose", pid)
			}
			checkWords(t, strings.Join(strings.Fields(out), " "), []string{
				"BARRIER NOT RELEASED all 4 of 4 have arrived at a barrier (of the parallel region at " +
					"verdict_unreleased.c:44), and the runtime does not release them",
				"LLVM issue 56307", "fix: use a later release of the OpenMP runtime",
			}, []string{"STARVED", "INCOMPLETE", "at work"})
		})
		t.Run("run"+level, func(t *testing.T) {
			argv := run.CommandLine(t.TempDir())
			argv[slices.Index(argv, string(omptest.Live))] = "wait"
			status, pic := e2e.ReportOfRun(t, argv, "--hang-after", "1s")
			// At the end, its first thread may be about to wake another one, which is no wait.
			other := func(v picture.Verdict) bool { return v.Kind != picture.VerdictBarrierMissing }
			if status != cli.ExitHang || slices.ContainsFunc(pic.Verdicts, other) {
				t.Errorf("exit status %d, verdicts %+v", status, pic.Verdicts)
			}
		})
		for _, release := range []int{16, 19} {
			healthy := run
			healthy.Runtime, healthy.Args = omptest.RuntimeOf(t, release), []string{"1"}
			t.Run("healthy"+level+"-"+healthy.Runtime.Name, func(t *testing.T) {
				l := e2e.StartLoop(t, healthy)
				for range looks {
					_, pic := lookWhenStopped(t, strconv.Itoa(l.Process.Pid))
					for _, v := range pic.Verdicts {
						if diagnose.Hangs(v) {
							t.Fatalf("%s of a healthy program: %s\n%q", v.Kind, v.Summary, v.Evidence)
						}
					}
				}
				l.End(t)
			})
		}
	}
}

// TestEndOfProgramIsShown looks at a program that hangs in the end of LLVM's runtime: the stack shows that the C
// library's exit called it.
func TestEndOfProgramIsShown(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		exe := omptest.Compile(t, omptest.Build{Program: "exit_lock", Flags: []string{level, "-g"}})
		run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live}
		t.Run(level, func(t *testing.T) {
			pid := strconv.Itoa(omptest.Start(t, run).PID)
			status, out, errs := e2e.Output(t, "report", pid)
			for status == cli.ExitOK && !strings.Contains(out, "in <OMP-overhead>\n      at exit (libc.so.6)\n") {
				status, out, errs = e2e.Output(t, "report", pid) // it may be on its way
			}
			if status != cli.ExitOK {
				t.Errorf("exit status %d: %s", status, errs)
			}
		})
	}
}
