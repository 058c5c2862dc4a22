package inspect_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// removedFrames has, by the argument of removed_frames.c, the user-model stack of each thread from the function hold
// on: the functions, and the constructs in them. A star marks the functions that tail calls removed.
var removedFrames = []string{
	"hold leaf* solve:parallel* solve* step* main",
	"hold choose* either:parallel* either* main", // left or right was called by choose
	"hold leaf* solve:parallel* solve* step* outer:parallel* outer* main",
	"hold leaf* spawn:task* tasks:parallel* tasks* main",
	"hold leaf* first* plain:parallel plain main",
	"hold leaf* half:parallel* half* halves:parallel* halves* main",
}

// TestRemovedFrames requires the functions that tail calls removed from stacks, with their marks, in all threads, if
// the code shows them without doubt. Those that gdb finds must be among them.
func TestRemovedFrames(t *testing.T) {
	libomp := omptest.RuntimeOf(t, 16)
	for _, c := range []struct {
		name    string
		build   omptest.Build
		runtime omptest.Runtime
	}{
		{"gcc -O2", omptest.Build{Compiler: omptest.GCC, Flags: []string{"-O2", "-g"}}, omptest.Libgomp(t)},
		{"gcc -O3", omptest.Build{Compiler: omptest.GCC, Flags: []string{"-O3", "-g"}}, omptest.Libgomp(t)},
		{"gcc -O2, no symbols but functions'", omptest.Build{Compiler: omptest.GCC, Flags: []string{"-O2"}},
			omptest.Libgomp(t)},
		{"gcc -O2 on libomp", omptest.Build{Compiler: omptest.GCC, Flags: []string{"-O2", "-g"}},
			omptest.Renamed(t, libomp, "libgomp.so.1")},
		{"clang -O2", omptest.Build{Flags: []string{"-O2", "-g"}}, libomp},
		{"clang -O3 on libomp 19", omptest.Build{Flags: []string{"-O3", "-g"}}, omptest.RuntimeOf(t, 19)},
	} {
		c.build.Program = "removed_frames"
		exe := omptest.Compile(t, c.build)
		for arg, want := range removedFrames {
			gnu := c.build.Compiler == omptest.GCC
			if !gnu { // the function of a task has a result
				want = strings.Replace(want, ":task*", ":task", 1)
			}
			t.Run(c.name+"/"+strconv.Itoa(arg), func(t *testing.T) {
				r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: c.runtime, Mode: omptest.Kernel,
					Args: []string{strconv.Itoa(arg)}})
				pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true})
				nameless := map[picture.ID]bool{}
				for _, r := range pic.Regions {
					nameless[r.ID] = r.Level > 0 && (r.Function == nil || r.Function.Module != "")
					// GNU's runtime stores no functions, and its worker has left that of this region.
					if nameless[r.ID] && !(pic.Runtimes[0].ID == "libgomp" && arg == 5 && r.Level == 2) {
						t.Errorf("region %s has the function %+v", r.ID, r.Function)
					}
				}
				checked := 0
				for _, th := range pic.Threads {
					if th.Hidden || arg == 5 && th.ThreadNum != nil && *th.ThreadNum == 0 {
						continue
					}
					checked++
					if nameless[th.Region] {
						if len(th.Errors) == 0 {
							t.Errorf("LWP %d does not report that its stack is not complete", th.LWP)
						}
						continue
					}
					if got := functionsFromHold(th.UserStack); got != want {
						t.Errorf("LWP %d: %s, want %s:\n%s", th.LWP, got, want, show(th.UserStack))
					}
				}
				if checked < 2 {
					t.Errorf("%d threads were checked", checked)
				}
				if slices.Contains(c.build.Flags, "-g") {
					n := compareTailCalls(t, r, pic)
					if n == 0 && gnu { // gdb does not read clang's call sites of tail calls
						t.Error("gdb finds no tail calls")
					}
				}
			})
		}
	}
}

// TestRegionForkedByTask requires that a region which a task's function forked by a tail call has its own function or
// none, and not that of the region which the enclosing region's function would fork. GNU's runtime stores no functions.
func TestRegionForkedByTask(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "removed_frames", Compiler: omptest.GCC,
		Flags: []string{"-O2", "-g"}})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel, Args: []string{"6"}})
	pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true})
	inner := 0
	for _, r := range pic.Regions {
		if r.Level != 2 {
			continue
		}
		inner++
		if r.Function != nil && !strings.HasPrefix(r.Function.Name, "solve.") {
			t.Errorf("region %s has the function %s", r.ID, r.Function.Name)
		}
	}
	if inner != 2 {
		t.Errorf("%d inner regions", inner)
	}
}

// functionsFromHold returns a stack from the function hold on, in the notation of removedFrames.
func functionsFromHold(stack []picture.Frame) string {
	var out []string
	for _, f := range stack {
		name := f.Function
		if f.Construct != "" {
			name = f.In + ":" + f.Construct
		}
		if f.How != "" {
			name += "*"
		}
		if name == "hold" || len(out) > 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// tailCallers prints the functions of the frames that gdb finds by the call sites in the debug information.
const tailCallers = `
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    f, out = gdb.newest_frame(), []
    while f is not None:
        if f.type() == gdb.TAILCALL_FRAME and gdb.solib_name(f.pc()) is None:
            out.append(f.name())
        f = f.older()
    print("TAIL", t.ptid[1], " ".join(out))
`

// compareTailCalls requires each frame that gdb finds by call sites on a thread's stack, and returns their number. gdb
// shows no function of a chain that is not known to its end, and no outlined function that the runtime called.
func compareTailCalls(t *testing.T, r *omptest.Result, pic *picture.Picture) (compared int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "tail.py")
	if err := os.WriteFile(script, []byte(tailCallers), 0o644); err != nil {
		t.Fatal(err)
	}
	out := omptest.Gdb(t, r.Exe, r.Core, "source "+script)
	for _, th := range pic.Threads {
		_, rest, ok := strings.Cut(out, "TAIL "+strconv.Itoa(th.LWP)+" ")
		if !ok {
			t.Errorf("gdb lists no LWP %d:\n%s", th.LWP, out)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		stack := th.UserStack
		for _, name := range strings.Fields(line) {
			i := slices.IndexFunc(stack, func(f picture.Frame) bool { return f.Function == name && f.How != "" })
			if i < 0 {
				t.Errorf("LWP %d: %s is not among the removed frames, gdb has %s:\n%s", th.LWP, name, line,
					show(th.UserStack))
				break
			}
			stack = stack[i+1:]
			compared++
		}
	}
	return compared
}

// TestForkBesideHeader requires the line of the region in the frame that forked it, where the compiler gave the call
// the line of a function that is inlined from a system header.
func TestForkBesideHeader(t *testing.T) {
	const regionLine = 18
	exe := omptest.Compile(t, omptest.Build{Program: "fork_beside_header", Compiler: omptest.GCC,
		Flags: []string{"-O2", "-g"}})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel,
		Args: []string{"0"}})
	pic := pictureOf(t, configOf(t, r.Core), picture.Parts{Threads: true, Regions: true, Stacks: true})
	checked := 0
	for _, th := range pic.Threads {
		if th.ThreadNum == nil {
			continue
		}
		checked++
		i := slices.IndexFunc(th.UserStack, func(f picture.Frame) bool {
			return f.Function == "main" && f.Construct == ""
		})
		if i < 0 || th.UserStack[i].Line != regionLine {
			t.Errorf("LWP %d: frame %d of main, want line %d:\n%s", th.LWP, i, regionLine, show(th.UserStack))
		}
		if slices.ContainsFunc(th.UserStack, func(f picture.Frame) bool { return f.InSystemHeader() }) {
			t.Errorf("LWP %d is in a system header:\n%s", th.LWP, show(th.UserStack))
		}
	}
	if checked != 2 {
		t.Errorf("%d threads were checked, want 2", checked)
	}
}
