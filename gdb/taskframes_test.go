package gdb_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// nativeFrame matches a frame of bt: its number and its function.
var nativeFrame = regexp.MustCompile(`(?m)^#(\d+) +(?:0x[0-9a-f]+ in )?(\S+)`)

// taskFrame matches a frame of a task: which one it is, its address, and its number and neighbor in the backtrace.
var taskFrame = regexp.MustCompile(`(?m)^    (exit|enter) +(none|0x[0-9a-f]+)(?:  #(\d+) .*  (?:calls|called by) (\S+).*)?$`)

// TestTaskFrames compares the frames of three nested tasks with gdb's backtrace: the exit frame is the runtime's that
// called the task's code, and the enter frame the runtime's that the code of the task called.
func TestTaskFrames(t *testing.T) {
	for _, flags := range [][]string{{"-O0", "-g"}, {"-O2", "-fno-inline", "-fno-optimize-sibling-calls"}} {
		r := omptest.Run{
			Exe: omptest.Compile(t, omptest.Build{
				Program: "task_frames", Compiler: omptest.LLVM, Flags: flags,
			}),
			Runtime: omptest.RuntimeOf(t, 16),
		}
		untracked := append(environment(r, "/dev/null"), "run", "omp taskframes", "kill")
		text := script(t, []string{r.Exe}, untracked...)
		if !strings.Contains(text, "was started with OMP_DEBUG=enabled") {
			t.Errorf("no reason without tracking:\n%s", text)
		}
		tracked := append(environment(r, "/dev/null"), "set environment OMP_DEBUG enabled")
		text = script(t, []string{r.Exe}, append(tracked, "run", "echo OWN\\n", "bt", "echo TASKS\\n",
			"omp taskframes", "echo WORKER\\n", "thread 2", "omp taskframes", "echo WRONG\\n",
			"omp taskframes now", "kill")...)
		_, own, _ := strings.Cut(text, "OWN\n")
		own, tasks, _ := strings.Cut(own, "TASKS\n")
		tasks, worker, _ := strings.Cut(tasks, "WORKER\n")
		worker, wrong, _ := strings.Cut(worker, "WRONG\n")
		checkTaskFrames(t, own, tasks)
		// The worker's implicit task, and the initial task on the stack of the thread that forked the region.
		if n := strings.Count(worker, "  task "); n != 2 || !strings.Contains(worker, "omp_outlined") ||
			!regexp.MustCompile(`(?m)__kmpc_fork_call .* called by main  in LWP \d+$`).MatchString(worker) {
			t.Errorf("%d tasks of the worker, want 2:\n%s", n, worker)
		}
		if !strings.Contains(wrong, "it takes no argument") {
			t.Errorf("a wrong argument: %s", wrong)
		}
	}
}

// TestTaskFramesOfGNU requires the reason why GNU's runtime has no frames of tasks.
func TestTaskFramesOfGNU(t *testing.T) {
	build := omptest.Build{Program: "task_frames", Compiler: omptest.GCC, Flags: []string{"-O0", "-g"}}
	exe := omptest.Compile(t, build)
	r := omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)}
	text := script(t, []string{exe}, append(environment(r, "/dev/null"), "run", "omp taskframes", "kill")...)
	if !strings.Contains(text, "only LLVM's runtime stores the frames of tasks") {
		t.Errorf("no reason:\n%s", text)
	}
}

// checkTaskFrames compares the frames of the tasks with the backtrace. Each exit frame is the caller of a frame of the
// program, and each enter frame is called by one.
func checkTaskFrames(t *testing.T, own, tasks string) {
	t.Helper()
	frames := nativeFrame.FindAllStringSubmatch(own, -1)
	var got, want []string
	for _, m := range taskFrame.FindAllStringSubmatch(tasks, -1) {
		got = append(got, m[1]+" "+m[3]+" "+m[4])
	}
	// From the inside: code of the innermost task, the runtime, code of the task around it, and so on to main.
	inProgram, enter := true, ""
	for n := slices.IndexFunc(frames, func(f []string) bool { return f[2] == "innermost" }); n < len(frames); n++ {
		name := frames[n][2]
		isProgram := strings.Contains(name, "omp_task_entry") || strings.Contains(name, "omp_outlined") ||
			slices.Contains([]string{"innermost", "middle", "main"}, name)
		switch {
		case inProgram && !isProgram:
			want = append(want, "exit "+frames[n][1]+" "+frames[n-1][2], "enter "+enter)
		case !inProgram && isProgram:
			enter = frames[n-1][1] + " " + name
		}
		inProgram = isProgram
		if enter == "" {
			enter = " "
		}
	}
	want = append(want, "exit  ", "enter "+enter)
	if len(want) != 8 || !slices.Equal(got, want) {
		t.Errorf("frames of tasks %q, want %q:\n%s\n%s", got, want, own, tasks)
	}
}
