package generated

import (
	"bufio"
	"cmp"
	"context"
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

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Config is how programs are built and run.
type Config struct {
	Compiler string // path
	Plus     string // path of the one for C++, empty for programs in C
	Flags    []string
	Library  string   // directory of the runtime
	Env      []string // of the programs
}

func (c Config) String() string {
	return fmt.Sprint(filepath.Base(cmp.Or(c.Plus, c.Compiler)), c.Flags, c.Library, c.Env)
}

// sources are the names of the files that [Config.write] writes.
func (c Config) sources() []string {
	if c.Plus != "" {
		return []string{"programs.cc", "far.cc"}
	}
	return []string{"programs.c", "far.c"}
}

// Build compiles some programs into one executable in dir.
func Build(dir string, c Config, programs []*Program) (exe string, err error) {
	main, far := Sources(programs, c.Plus != "")
	for i, text := range []string{main, far} {
		if err := os.WriteFile(filepath.Join(dir, c.sources()[i]), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return c.link(dir)
}

// link compiles and links the programs whose sources are in dir.
func (c Config) link(dir string) (exe string, err error) {
	for name, text := range map[string]string{"gen.c": genC, "gen.h": genH} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	// The name by which compilers link LLVM's runtime comes with its development package.
	link := filepath.Join(dir, "libomp.so")
	_ = os.Remove(link)
	if err := os.Symlink(filepath.Join(c.Library, "libomp.so.5"), link); err != nil {
		return "", err
	}
	flags := append([]string{"-g", "-fopenmp", "-pthread", "-w", "-I", "."}, c.Flags...)
	exe = filepath.Join(dir, "programs")
	for _, step := range [][]string{
		append([]string{c.Compiler, "-c", "gen.c", "-o", "gen.o"}, flags...),
		append(append([]string{cmp.Or(c.Plus, c.Compiler), "gen.o", "-L", dir, "-o", exe}, c.sources()...), flags...),
	} {
		cmd := exec.Command(step[0], step[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	return exe, nil
}

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
	Kinds    []picture.VerdictKind // of the hang
	Findings []Finding
}

func (o *Outcome) find(class, format string, args ...any) {
	o.Findings = append(o.Findings, Finding{class, fmt.Sprintf(format, args...)})
}

// Times of a run. A machine that is busy makes a run slow, not wrong.
const (
	betweenLooks = 30 * time.Millisecond
	stillFor     = 6  // samples without a note, before a hang is believed where threads sleep
	spinningFor  = 60 // and where they spin, unless each has used some time of a processor before
	spinTicks    = 5  // hundredths of a second that are enough for a note
	sample       = 25 * time.Millisecond
	runLimit     = 100 * time.Second
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
	killed  bool // it ends by a signal of ours, with a core
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
// then at the core that the kernel writes of it.
func Run(exe string, c Config, p *Program, n int) (Outcome, error) {
	// A shell between is the program's parent, so that its wait and a look do not meet.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; "$0" "$1"; exit $?`, exe, strconv.Itoa(n))
	dir, err := os.MkdirTemp(filepath.Dir(exe), "run")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	cmd.Dir = dir
	cmd.Env = append([]string{"OMP_MAX_ACTIVE_LEVELS=2", "LD_LIBRARY_PATH=" + c.Library}, c.Env...)
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
		r.ended <- cmd.Wait()
		close(done)
	}()
	err = r.follow()
	if err == nil && r.killed {
		err = r.core(done)
	}
	_ = syscall.Kill(r.pid, syscall.SIGKILL)
	<-done
	return r.Outcome, err
}

// greeted takes what the program says when it begins.
func (r *run) greeted(line string) error {
	lock, nest := array{Size: 16, Count: 8}, array{Size: 32, Count: 4}
	mutex, cond := array{Size: 40, Count: 4}, array{Size: 48, Count: 2}
	if _, err := fmt.Sscanf(line, "PAGE %x PID %d LOCK %x NEST %x MUTEX %x COND %x",
		&r.page, &r.pid, &lock.Base, &nest.Base, &mutex.Base, &cond.Base); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	r.objects = map[string]array{"gen_lock": lock, "gen_nest": nest, "gen_mutex": mutex, "gen_cond": cond}
	return nil
}

// follow looks at the program in random moments until it ends or hangs.
func (r *run) follow() error {
	random := rand.New(rand.NewPCG(r.program.Seed, 2))
	limit := time.Now().Add(runLimit)
	for time.Now().Before(limit) {
		select {
		case err := <-r.ended:
			return r.over(err)
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
		if err := r.look(); err != nil {
			r.find("error", "%v", err)
		}
		// Every second program that is healthy is killed amid its work.
		if r.Looks >= enoughLooks && r.program.Mistake == Healthy && r.program.Seed%2 == 0 {
			r.killed = true
			return nil
		}
	}
	if truth, err := readTruth(r.pid, r.page); err == nil {
		r.moved(truth)
	}
	r.find("endless", "still running after %v", runLimit)
	return nil
}

// over is the end of the program by itself.
func (r *run) over(err error) error {
	if err != nil {
		return fmt.Errorf("program %d: %w", r.program.Seed, err)
	}
	r.moved(nil)
	return nil
}

// standstill reports whether nothing moves any more.
func (r *run) standstill() (bool, error) {
	before, err := readTruth(r.pid, r.page)
	if err != nil {
		return false, err
	}
	since := map[int]int{}
	for n := 1; ; n++ {
		time.Sleep(sample)
		now, err := readTruth(r.pid, r.page)
		if err != nil {
			return false, err
		}
		if len(now) != len(before) || len(same(before, now)) != len(now) {
			return false, nil
		}
		sleeps, used, waits := r.stuck(now)
		switch {
		case !waits:
			return false, nil
		case n < stillFor:
		case sleeps, spun(since, used), n == spinningFor:
			return true, nil
		}
	}
}

// spun reports whether each thread that runs has used enough time for a note, had it one to
// make, since it was first seen.
func spun(since, now map[int]int) bool {
	all := true
	for lwp, ticks := range now {
		if _, seen := since[lwp]; !seen {
			since[lwp] = ticks
		}
		all = all && ticks >= since[lwp]+spinTicks
	}
	return all
}

// stuck reports whether each thread of the process sleeps; of those that do not, what time of
// processors they have used; waits if all of these spin where they may wait.
func (r *run) stuck(truth Truth) (sleeps bool, used map[int]int, waits bool) {
	used = map[int]int{}
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", r.pid))
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			return false, nil, false
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		lwp, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if strings.HasPrefix(rest, "S") {
			continue
		}
		if !mayBeWaiting(truth[lwp]) {
			return false, nil, false
		}
		used[lwp] = ticksOf(rest)
	}
	return len(used) == 0, used, len(stats) > 0
}

// ticksOf is the time of processors that a thread has used, of its stat behind the name.
func ticksOf(stat string) int {
	const user, system = 11, 12
	f := strings.Fields(stat)
	if len(f) <= system {
		return 0
	}
	u, _ := strconv.Atoi(f[user])
	s, _ := strconv.Atoi(f[system])
	return u + s
}

// mayBeWaiting reports whether a thread that runs has noted that it waits, or may be at the
// end of a construct, where no note tells, and threads spin; with tasks queued in a team, those
// of LLVM's runtime do so whatever the wait policy is.
func mayBeWaiting(s *slot) bool {
	return s != nil && (s.top().waits() || s.top().Kind == NoteRegionEnd || s.top().Kind == NoteConstruct)
}

// picture is what the tool says of a target.
func pictureOf(target string) (*picture.Picture, error) {
	ctx := context.Background()
	t, err := session.Open(ctx, target, session.Options{})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	q := session.Report()
	q.Budget = 0
	a, err := t.Look(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return a.Picture, nil
}

func (r *run) picture() (*picture.Picture, error) { return pictureOf(strconv.Itoa(r.pid)) }

// look compares the tool's answer with the truth of the threads that did not move during it.
func (r *run) look() error {
	before, err := readTruth(r.pid, r.page)
	if err != nil {
		return nil // it has just ended
	}
	pic, err := r.picture()
	after, gone := readTruth(r.pid, r.page)
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
	return nil
}

// atRest looks at a program that hangs.
func (r *run) atRest() error {
	truth, err := readTruth(r.pid, r.page)
	if err != nil {
		return err
	}
	pic, err := r.picture()
	if err != nil {
		return err
	}
	if again, err := r.standstill(); err != nil || !again {
		return err // it was only slow
	}
	if now, err := readTruth(r.pid, r.page); err != nil || len(same(truth, now)) != len(truth) {
		return err // and has moved since
	}
	r.Looks++
	r.Hang = true
	j := judge{out: &r.Outcome, pic: pic, still: truth, all: truth, objects: r.objects}
	j.facts(true)
	j.explained()
	r.moved(truth)
	if r.program.Mistake == Healthy {
		r.find("generator", "a healthy program hangs: %s", j.describe())
	}
	return nil
}
