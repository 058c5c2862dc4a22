package generated

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Finding is a difference between the truth and what the tool says.
type Finding struct {
	Class string
	Text  string
}

// Outcome is what became of one program.
type Outcome struct {
	Looks    int // at the running program
	Cores    int // that were looked at
	Hang     bool
	Died     bool                  // the program, by its mistake
	Kinds    []picture.VerdictKind // of the hang
	Findings []Finding
	Picture  *picture.Picture // of the first finding
}

func (o *Outcome) find(class, format string, args ...any) {
	o.Findings = append(o.Findings, Finding{class, fmt.Sprintf(format, args...)})
}

// Times of a run. A machine that is busy makes a run slow, not wrong.
const (
	betweenLooks = 30 * time.Millisecond
	runLimit     = 30 * time.Minute
	enoughLooks  = 2 // at a program that is killed then
)

// run is one program that runs.
type run struct {
	program *Program
	dir     string // where its core will be
	pid     int
	page    uint64
	ended   chan error
	hanging []suspect
	objects map[string]array
	target  *engine.Target // the process; what does not change is read once, as by who watches
	killed  bool           // it ends by a signal of ours, with a core
	Outcome
}

// suspect is a thread that a verdict has said to hang.
type suspect struct {
	lwp  int
	slot slot
	said string
}

// goesOn reports whether the thread has left the wait that it was in. It may have run
// tasks there.
func (s suspect) goesOn(now *slot) bool {
	n := s.slot.Depth
	return now == nil || now.Depth < n || !slices.Equal(now.Notes[:n], s.slot.Notes[:n])
}

// moved finds suspects that have gone on; truth is nil if all have.
func (r *run) moved(truth Truth) {
	for _, s := range r.hanging {
		if s.goesOn(truth[s.lwp]) {
			r.find("false hang", "LWP %d goes on: %s", s.lwp, s.said)
			return
		}
	}
}

// Run runs the n-th of the programs of an executable, looks at it until it ends or hangs, and
// then, if asked to or if it has found something, at the core that the kernel writes of it.
func Run(exe string, c Config, p *Program, n int, core bool) (Outcome, error) {
	// A shell between is the program's parent, so that its wait and a look do not meet.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; "$0" "$1"; exit $?`, exe, strconv.Itoa(n))
	dir, err := os.MkdirTemp(filepath.Dir(exe), "run")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"OMP_MAX_ACTIVE_LEVELS=2", "OMP_CANCELLATION=true", "LD_LIBRARY_PATH=" + c.Library,
	}, c.Env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Outcome{}, err
	}
	if err := cmd.Start(); err != nil {
		return Outcome{}, err
	}
	r := run{program: p, dir: dir, ended: make(chan error, 1)}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: no page: %w", c, err)
	}
	if err := r.greeted(line); err != nil {
		return Outcome{}, err
	}
	done := make(chan struct{})
	go func() {
		err := cmd.Wait()
		spent.programs.Add(int64(cpu(cmd.ProcessState)))
		r.ended <- err
		close(done)
	}()
	defer r.close()
	err = r.follow()
	if errors.Is(err, errEndless) { // which is a finding
		err, r.killed = nil, false
	}
	if err == nil && r.killed && (core || len(r.Findings) > 0) {
		err = r.core(done)
	}
	_ = syscall.Kill(r.pid, syscall.SIGKILL)
	<-done
	// LLVM's runtime registers each process by a file, which one that is killed leaves behind.
	_ = os.Remove(fmt.Sprintf("/dev/shm/__KMP_REGISTERED_LIB_%d_%d", r.pid, os.Getuid()))
	return r.Outcome, err
}

// close lets go of the process.
func (r *run) close() {
	if r.target != nil {
		_ = r.target.Close()
	}
}

// truth is what the threads have noted up to now.
func (r *run) truth() (Truth, error) { return readTruth(r.pid, r.page) }

// picture is what the tool says of the process.
func (r *run) picture() (*picture.Picture, error) {
	old := r.target
	r.target = nil // is lost with a look that does not end
	var target *engine.Target
	pic, err := limited(func(ctx context.Context) (*picture.Picture, error) {
		t := old
		if t == nil {
			var err error
			if t, err = engine.Open(ctx, strconv.Itoa(r.pid), engine.Options{}); err != nil {
				return nil, err
			}
		}
		pic, err := lookAt(ctx, t)
		target = t
		return pic, err
	})
	if errors.Is(err, errEndless) {
		r.find("endless look", "%v", err)
		return nil, err
	}
	r.target = target
	return pic, err
}

// blind is a fault of the judge, for the test of what finds faults: it takes something out of
// what the tool says.
var blind func(*picture.Picture)

// greeted takes what the program says when it begins.
func (r *run) greeted(line string) error {
	words := strings.Fields(line)
	if len(words) != 16 {
		return fmt.Errorf("%q", line)
	}
	value := func(i, base int) uint64 { n, _ := strconv.ParseUint(words[i], base, 64); return n }
	r.page, r.pid = value(1, 16), int(value(3, 10))
	r.objects = map[string]array{}
	for i := 4; i < len(words); i += 2 {
		r.objects[words[i]] = arrays[words[i]].withBase(value(i+1, 16))
	}
	return nil
}

// follow looks at the program in random moments until it ends or hangs.
func (r *run) follow() error {
	random := rand.New(rand.NewPCG(r.program.Seed, 2))
	limit := time.Now().Add(runLimit)
	for time.Now().Before(limit) {
		select {
		case err := <-r.ended:
			return r.judgeEnd(err)
		case <-time.After(time.Duration(random.Int64N(int64(betweenLooks)))):
		}
		if hangs, err := r.standstill(); err != nil || hangs {
			if hangs {
				if err := r.atRest(); err != nil || r.Hang {
					r.killed = true
					return err
				}
			}
			continue // it has ended between
		}
		if err := r.look(); errors.Is(err, errEndless) {
			return err
		} else if err != nil {
			r.find("error", "%v", err)
		}
		// Every second program that is healthy is killed amid its work.
		if r.Looks >= enoughLooks && r.program.Mistake == Healthy && r.program.Seed%2 == 0 {
			r.killed = true
			return nil
		}
	}
	if truth, err := r.truth(); err == nil {
		r.moved(truth)
	}
	r.find("endless", "still running after %v", runLimit)
	return nil
}

// segmentation is the exit status that a shell gives to a program that ended by SIGSEGV.
const segmentation = 128 + int(syscall.SIGSEGV)

// judgeEnd is the end of the program by itself.
func (r *run) judgeEnd(err error) error {
	// Threads that are at different barriers have different tasks and teams in them: LLVM's runtime
	// follows pointers that are none then, whether it is looked at or not.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == segmentation &&
		r.program.Mistake == BarrierSkipped {
		r.Died = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("program %d: %w", r.program.Seed, err)
	}
	r.moved(nil)
	return nil
}

// look compares the tool's answer with the truth of the threads that did not move during it.
func (r *run) look() error {
	before, err := r.truth()
	if err != nil {
		return nil // it has just ended
	}
	pic, err := r.picture()
	after, gone := r.truth()
	if gone != nil {
		return nil
	}
	if err != nil {
		return err
	}
	r.Looks++
	j := judge{out: &r.Outcome, pic: pic, still: same(before, after), all: after, objects: r.objects}
	j.facts(false)
	j.verdictsAmid(r)
	r.show(pic)
	return nil
}

// show keeps the picture in which the first thing was found.
func (r *run) show(pic *picture.Picture) {
	if r.Picture == nil && len(r.Findings) > 0 {
		r.Picture = pic
	}
}

// atRest looks at a program that hangs.
func (r *run) atRest() error {
	truth, err := r.truth()
	if err != nil {
		return err
	}
	pic, err := r.picture()
	if err != nil {
		return err
	}
	now, err := r.truth()
	if err != nil || len(same(truth, now)) != len(truth) {
		return err // it was only slow, and has moved since
	}
	if _, waits := r.stuck(now); !waits {
		return nil
	}
	r.Looks++
	r.Hang = true
	j := judge{out: &r.Outcome, pic: pic, still: truth, all: truth, objects: r.objects}
	j.facts(true)
	j.explained()
	r.moved(truth)
	r.show(pic)
	if r.program.Mistake == Healthy {
		r.find("generator", "a healthy program hangs: %s", j.describe())
	}
	return nil
}
