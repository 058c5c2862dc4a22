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

// Finding is a difference between the truth and the tool's output.
type Finding struct {
	Class string
	Text  string
}

// Outcome is the result of one program.
type Outcome struct {
	Looks    int // looks at the running program
	Cores    int // that were looked at
	Hang     bool
	Died     bool                  // the program, by its mistake
	Handlers bool                  // no verdict, as the handler of a signal may end the hang
	Kinds    []picture.VerdictKind // of the hang
	Findings []Finding
	Picture  *picture.Picture // of the first finding
}

func (o *Outcome) find(class, format string, args ...any) {
	o.Findings = append(o.Findings, Finding{class, fmt.Sprintf(format, args...)})
}

// Times of a run. A busy machine makes a run slow, not wrong.
const (
	betweenLooks = 30 * time.Millisecond
	runLimit     = 30 * time.Minute
	enoughLooks  = 2 // at a program that is killed then
)

// run is one running program.
type run struct {
	program *Program
	dir     string // directory of its core
	pid     int
	page    uint64
	ended   chan error
	hanging []suspect
	objects map[string]array
	target  *engine.Target // the process; constant data is read once, as by a watcher
	killed  bool           // a signal of this test ends it, with a core
	Outcome
}

// suspect is a thread that a verdict reports as hung.
type suspect struct {
	lwp  int
	slot slot
	said string
}

// goesOn reports whether the thread has left its wait. It may have run tasks there, or have been in one.
func (s suspect) goesOn(now *slot) bool {
	n := s.slot.Depth
	for n > 0 && !s.slot.Notes[n-1].waits() {
		n--
	}
	if n == 0 {
		n = s.slot.Depth
	}
	return now == nil || now.Depth < n || !slices.Equal(now.Notes[:n], s.slot.Notes[:n])
}

// moved finds suspects that have made progress; truth is nil if all have.
func (r *run) moved(truth Truth) {
	for _, s := range r.hanging {
		if s.goesOn(truth[s.lwp]) {
			r.find("false hang", "LWP %d goes on: %s", s.lwp, s.said)
			return
		}
	}
}

// Run runs the n-th program of an executable and looks at it until it ends or hangs. Then, if requested or after
// a finding, it looks at the core that the kernel writes of it.
func Run(exe string, c Config, p *Program, n int, core bool) (Outcome, error) {
	// A shell is the program's parent, so that its wait and a look do not interfere.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; "$0" "$1"; exit $?`, exe, strconv.Itoa(n))
	dir, err := os.MkdirTemp(filepath.Dir(exe), "run")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	cmd.Dir = dir
	cmd.Env = append([]string{"OMP_CANCELLATION=true", "LD_LIBRARY_PATH=" + c.Library}, c.Env...)
	cmd.Env = append(cmd.Env, limitedBy(p)...)
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
	// LLVM's runtime registers each process by a file, which a killed process leaves.
	_ = os.Remove(fmt.Sprintf("/dev/shm/__KMP_REGISTERED_LIB_%d_%d", r.pid, os.Getuid()))
	return r.Outcome, err
}

// close releases the process.
func (r *run) close() {
	if r.target != nil {
		_ = r.target.Close()
	}
}

// truth returns the threads' notes so far.
func (r *run) truth() (Truth, error) { return readTruth(r.pid, r.page) }

// picture returns the tool's picture of the process.
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

// blind simulates a defect, to test the judge: it removes a part of the tool's picture.
var blind func(*picture.Picture)

// greeted parses the program's first line.
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

// follow looks at the program at random moments until it ends or hangs.
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
			continue // it has ended meanwhile
		}
		if err := r.look(); errors.Is(err, errEndless) {
			return err
		} else if err != nil {
			r.find("error", "%v", err)
		}
		// Every second healthy program is killed during its work.
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

// deaths are the exit statuses that a shell gives to a program that ended by SIGSEGV or SIGABRT.
var deaths = []int{128 + int(syscall.SIGSEGV), 128 + int(syscall.SIGABRT)}

// judgeEnd judges the program's own end.
func (r *run) judgeEnd(err error) error {
	// Threads at different barriers disagree on their tasks and teams: LLVM's runtime then follows invalid
	// pointers, with or without looks. It aborts if a lock that is handed over is released before it was taken.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && slices.Contains(deaths, exit.ExitCode()) &&
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
	j := judge{
		out: &r.Outcome, program: r.program, pic: pic, still: same(before, after), all: after, objects: r.objects,
	}
	j.facts(false)
	j.verdictsAmid(r)
	r.show(pic)
	return nil
}

// show keeps the picture of the first finding.
func (r *run) show(pic *picture.Picture) {
	if r.Picture == nil && len(r.Findings) > 0 {
		r.Picture = pic
	}
}

// atRest looks at a hung program.
func (r *run) atRest() error {
	truth, err := r.truth()
	if err != nil {
		return nil // it was only slow, and has ended since
	}
	pic, err := r.picture()
	if errors.Is(err, errEndless) {
		return err
	}
	now, gone := r.truth()
	if gone != nil || len(same(truth, now)) != len(truth) {
		return nil // the same, or it has moved
	}
	if err != nil {
		return err
	}
	if _, waits := r.stuck(now); !waits {
		return nil
	}
	r.Looks++
	r.Hang = true
	j := judge{out: &r.Outcome, program: r.program, pic: pic, still: truth, all: truth, objects: r.objects}
	j.facts(true)
	j.explained()
	r.moved(truth)
	r.show(pic)
	if r.program.Mistake == Healthy {
		r.find("generator", "a healthy program hangs: %s", j.describe())
	}
	return nil
}
