package live

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestInterleaved holds threads of a healthy program at random instructions, as a scheduler may do, while the other
// threads run on until they wait, and looks. The held threads then execute some instructions one by one, with a look
// after each few: no look may find a hang. The date selects a part of the constructs; the campaign interleaved holds
// threads at all, for longer.
func TestInterleaved(t *testing.T) {
	source := filepath.Join("testdata", "interleaved.c")
	seed := omptest.Number(t, "seed", 1)
	rounds := omptest.Number(t, "rounds", 1)
	only := omptest.Option("construct")
	levels := []string{"-O1", "-O0", "-O2"}
	for _, compiler := range []string{"gcc", "clang-16"} {
		exe := filepath.Join(t.TempDir(), "interleaved")
		level := levels[seed%len(levels)]
		e2e.RunCompiler(t, exec.Command(compiler, "-fopenmp", "-g", level, "-o", exe, source))
		names, err := exec.Command(exe).Output()
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range strings.Fields(string(names)) {
			chosen := only == name
			if only == "" {
				chosen = omptest.Option("rounds") != "" || omptest.Turn(4, compiler, name)
			}
			if !chosen {
				continue
			}
			t.Run(compiler+level+"/"+name, func(t *testing.T) {
				interleave(t, exe, name, rounds, rand.New(rand.NewPCG(uint64(seed), uint64(i))))
			})
		}
	}
}

// interleave runs one construct, and looks at it in each round.
func interleave(t *testing.T, exe, construct string, rounds int, random *rand.Rand) {
	t.Helper()
	cmd := exec.Command(exe, construct)
	policy := []string{"OMP_WAIT_POLICY=passive", "OMP_WAIT_POLICY=active", "OMP_DYNAMIC=false"}[random.IntN(3)]
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=4", "OMP_CANCELLATION=true", policy)
	s := attach(t, cmd)
	s.random = random
	defer s.close()
	for range rounds {
		s.round()
	}
	t.Logf("%d looks, %s", s.looks, policy)
}

// stepper holds a process as a debugger does.
type stepper struct {
	t       *testing.T
	cmd     *exec.Cmd
	pid     int
	random  *rand.Rand
	seized  map[int]bool // by LWP: all threads that it has had
	stopped map[int]bool
	target  *engine.Target
	looks   int
}

// attach starts a program that writes a line when it is ready. The goroutine is its tracer until close.
func attach(t *testing.T, cmd *exec.Cmd) *stepper {
	t.Helper()
	out := start(t, cmd)
	runtime.LockOSThread()
	s := &stepper{t: t, cmd: cmd, pid: cmd.Process.Pid, seized: map[int]bool{}, stopped: map[int]bool{}}
	_, err := out.ReadString('\n')
	var p *live.Process
	if err == nil {
		p, err = live.Open(s.pid, live.Options{NoStop: true, Registers: s.registers})
	}
	if err != nil {
		s.close()
		t.Fatal(err)
	}
	s.target = engine.NewProcessTarget(p, nil, engine.Options{NoStop: true})
	s.target.KeepFiles()
	return s
}

// close ends the process. Its first thread ends after the others, whose ends their tracer must see.
func (s *stepper) close() {
	_ = unix.Kill(s.pid, unix.SIGKILL)
	for lwp := range s.seized {
		for lwp != s.pid {
			var status unix.WaitStatus
			_, err := unix.Wait4(lwp, &status, unix.WALL, nil)
			if err == nil && !status.Stopped() || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
	_ = s.cmd.Wait()
	runtime.UnlockOSThread()
	if s.target != nil {
		s.target.Close()
	}
}

// registers returns the registers of the stopped threads by name.
func (s *stepper) registers() map[int]map[string]uint64 {
	all := map[int]map[string]uint64{}
	for lwp := range s.stopped {
		var r unix.PtraceRegs
		if unix.PtraceGetRegs(lwp, &r) != nil {
			continue
		}
		all[lwp] = map[string]uint64{
			"rax": r.Rax, "rdx": r.Rdx, "rcx": r.Rcx, "rbx": r.Rbx, "rsi": r.Rsi, "rdi": r.Rdi, "rbp": r.Rbp,
			"rsp": r.Rsp, "r8": r.R8, "r9": r.R9, "r10": r.R10, "r11": r.R11, "r12": r.R12, "r13": r.R13,
			"r14": r.R14, "r15": r.R15, "rip": r.Rip, "fs_base": r.Fs_base,
		}
	}
	return all
}

// stopAll stops all threads, new ones too.
func (s *stepper) stopAll() {
	for {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
		if err != nil {
			s.t.Fatal(err)
		}
		more := false
		for _, e := range entries {
			lwp, err := strconv.Atoi(e.Name())
			if err != nil || s.stopped[lwp] {
				continue
			}
			more = true
			if err := unix.PtraceSeize(lwp); err != nil && !errors.Is(err, unix.EPERM) { // EPERM: it is seized
				continue // it ends
			}
			s.seized[lwp] = true
			if unix.PtraceInterrupt(lwp) == nil {
				s.await(lwp)
			}
		}
		if !more {
			return
		}
	}
}

// await waits until a thread has stopped or ended.
func (s *stepper) await(lwp int) {
	var status unix.WaitStatus
	for {
		switch _, err := unix.Wait4(lwp, &status, unix.WALL, nil); {
		case errors.Is(err, unix.EINTR):
		case err == nil && status.Stopped():
			s.stopped[lwp] = true
			return
		default:
			delete(s.stopped, lwp)
			return
		}
	}
}

// resume lets a thread run.
func (s *stepper) resume(lwp int) {
	if unix.PtraceCont(lwp, 0) == nil {
		delete(s.stopped, lwp)
	}
}

// step executes up to n instructions of a stopped thread. A thread that waits in the kernel is stopped there again.
func (s *stepper) step(lwp, n int) {
	for range n {
		if unix.PtraceSingleStep(lwp) != nil {
			return
		}
		delete(s.stopped, lwp)
		for range 50 {
			if s.poll(lwp) {
				break
			}
			time.Sleep(10 * time.Microsecond)
		}
		if !s.stopped[lwp] {
			if unix.PtraceInterrupt(lwp) == nil {
				s.await(lwp)
			}
			return
		}
	}
}

// poll reports whether a thread has stopped or ended.
func (s *stepper) poll(lwp int) bool {
	var status unix.WaitStatus
	got, err := unix.Wait4(lwp, &status, unix.WALL|unix.WNOHANG, nil)
	if got == lwp && status.Stopped() {
		s.stopped[lwp] = true
	}
	return got == lwp || err != nil && !errors.Is(err, unix.EINTR)
}

// round holds one or two threads, and looks.
func (s *stepper) round() {
	for lwp := range s.stopped {
		s.resume(lwp)
	}
	time.Sleep(time.Duration(s.random.IntN(1000)) * time.Microsecond)
	s.stopAll()
	all := slices.Sorted(maps.Keys(s.stopped))
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	held, others := all[:min(len(all), 1+s.random.IntN(2))], all
	others = others[len(held):]
	for _, lwp := range held {
		s.step(lwp, s.random.IntN(1000))
	}
	for range 8 {
		for _, lwp := range others {
			s.resume(lwp)
		}
		time.Sleep(2 * time.Millisecond)
		s.stopAll()
		for range 4 {
			s.look()
			for _, lwp := range held {
				s.step(lwp, 1+s.random.IntN(8))
			}
		}
	}
}

// look reports each verdict of a hang.
func (s *stepper) look() {
	s.t.Helper()
	s.looks++
	result, err := s.target.Look(context.Background(), engine.Report())
	if err != nil {
		s.t.Fatal(err)
	}
	defer result.Close()
	for _, v := range result.Picture.Verdicts {
		if diagnose.Hangs(v) || v.Severity == picture.SeverityHang {
			s.t.Errorf("look %d: %s (%s): %s\n%q", s.looks, v.Kind, v.Certainty, v.Summary, v.Evidence)
			s.keep(result.Picture)
			return
		}
	}
}

// set sets an element of an array of int, a global variable of the program.
func (s *stepper) set(variable string, index int, value uint32) {
	s.t.Helper()
	p, err := live.Open(s.pid, live.Options{NoStop: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	at, err := p.Symbol(variable, "")
	if err == nil {
		b := binary.NativeEndian.AppendUint32(nil, value)
		_, err = unix.PtracePokeData(s.pid, uintptr(at.Offset)+4*uintptr(index), b)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// children returns the number of unfinished children that the runtime counts for all implicit tasks of level 1, and the
// number of listed ones, and adds the states of these.
func (s *stepper) children(states map[picture.TaskState]bool) (counted, listed int) {
	s.t.Helper()
	result, err := s.target.Look(context.Background(), engine.Query{Parts: picture.Parts{Tasks: true}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer result.Close()
	for _, t := range result.Picture.Tasks {
		switch {
		case t.Kind == picture.TaskExplicit:
			listed++
			states[t.State] = true
		case t.IncompleteChildren != nil:
			counted += *t.IncompleteChildren
		}
	}
	return counted, listed
}

// keep writes the picture of a failure, if an option names a directory for it.
func (s *stepper) keep(pic *picture.Picture) {
	dir := omptest.Option("keep")
	if dir == "" {
		return
	}
	b, err := json.MarshalIndent(pic, "", " ")
	if err == nil {
		name := strings.ReplaceAll(s.t.Name(), "/", "-") + "-" + strconv.Itoa(s.looks) + ".json"
		err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// TestTakenTasks executes the instructions of a thread one by one, from a taskwait or a barrier until it has executed
// all tasks of its team. Meanwhile, the tasks that the runtime counts as unfinished are listed, also while the thread
// has taken one from a queue and not begun it, or ends one. The campaign looks at each instruction.
func TestTakenTasks(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "taken")
	source := filepath.Join("testdata", "taken.c")
	e2e.RunCompiler(t, exec.Command("clang-16", "-fopenmp", "-g", "-O1", "-o", exe, source))
	instructions := 3 // fewer than a task is in no list
	if omptest.Option("rounds") != "" {
		instructions = 1
	}
	for number, waits := range []string{"taskwait", "barrier"} {
		t.Run(waits, func(t *testing.T) {
			cmd := exec.Command(exe)
			s := attach(t, cmd)
			defer s.close()
			s.stopAll()
			s.set("execute", number, 1)
			at := slices.Sorted(maps.Keys(s.stopped))[number]
			states := map[picture.TaskState]bool{}
			for steps := 0; ; steps += instructions {
				left, listed := s.children(states)
				if listed < left {
					t.Errorf("instruction %d: %d tasks are listed, and %d counted", steps, listed, left)
				}
				if left == 0 {
					break
				}
				s.step(at, instructions)
			}
			for _, state := range []picture.TaskState{picture.TaskQueued, picture.TaskBlocked, picture.TaskRunning} {
				if !states[state] {
					t.Errorf("no task was ever %s", state)
				}
			}
		})
	}
}
