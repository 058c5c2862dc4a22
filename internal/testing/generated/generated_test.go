package generated

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// batch is the largest number of programs in one executable.
const batch = 16

// ordinary is the number of programs in an ordinary run of the tests.
const ordinary = 6

// shrunk is the number of programs with one kind of failure that are made small, without the option shrink. Each
// takes a hundred runs.
const shrunk = 1

// every is the number of programs after which a run logs its counts.
const every = 100

// coreTurn: one program in coreTurn leaves a core to look at, if it is killed.
const coreTurn = 4

// configs are the ways to build programs.
func configs(t *testing.T) []Config {
	t.Helper()
	var all []Config
	add := func(compiler, level string, r omptest.Runtime) {
		path, err := exec.LookPath(compiler)
		if err != nil {
			t.Fatal(err)
		}
		plus, err := exec.LookPath(strings.NewReplacer("gcc", "g++", "clang", "clang++").Replace(compiler))
		if err != nil {
			t.Fatal(err)
		}
		c := Config{Compiler: path, Flags: []string{level}, Library: r.Dir, Runtime: r.Name}
		all = append(all, c)
		c.Plus = plus
		all = append(all, c)
	}
	gnu := omptest.Libgomps(t)
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		add("gcc", level, gnu[0])
		add("gcc", level, gnu[1])
		// A program runs on the runtime of its compiler's version, or on a later one.
		for compiler, majors := range map[string][]int{
			"clang-14": {14, 15}, "clang-16": {16, 19}, "clang-19": {19},
		} {
			if omptest.Quick() && compiler != "clang-16" {
				continue // it is in no package of make test
			}
			for _, major := range majors {
				add(compiler, level, omptest.RuntimeOf(t, major))
			}
		}
	}
	slices.SortFunc(all, func(a, b Config) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// varied returns the way to build, or one in which the second file has another level, or in which the linker
// optimizes the program.
func (c Config) varied(random *rand.Rand) Config {
	levels := []string{"-O0", "-O1", "-O2", "-O3"}
	switch random.IntN(6) {
	case 0:
		if strings.Contains(c.Compiler, "gcc") { // clang's needs a plugin of the linker
			c.Extra = []string{"-flto"}
		}
	case 1, 2:
		c.Far = levels[random.IntN(len(levels))]
	}
	return c
}

// campaign is one run of the test: its counts, and the directories of failures.
type campaign struct {
	t      *testing.T
	common *common
	dir    string // for executables and cores
	keep   string // for failed programs; empty if they are not kept
	mu     sync.Mutex
	counts map[string]int
}

// newCampaign prepares a run of programs, in a file system in memory if there is one.
func newCampaign(t *testing.T) *campaign {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "generated")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m, err := newCommon(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &campaign{t: t, common: m, dir: dir, keep: omptest.Option("keep"), counts: map[string]int{}}
}

// TestGenerated tests the tool on random programs. The campaign generated sets their number and the first seed, the
// number that run at a time, and the directory for failed programs, which are made small.
func TestGenerated(t *testing.T) {
	omptest.Needs(t, "compilers")
	// The few programs of an ordinary run are always the same: only a run that searches for failures uses new
	// ones.
	n, seed := uint64(omptest.Number(t, "programs", ordinary)), uint64(omptest.Number(t, "seed", 1))
	t.Logf("%d programs from seed %d", n, seed)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	k := newCampaign(t)
	all := configs(t)
	batches := make(chan uint64)
	var workers sync.WaitGroup
	for range omptest.Number(t, "workers", runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for first := range batches {
				var programs []*Program
				for i := first; i < min(first+batch, seed+n); i++ {
					programs = append(programs, New(i))
				}
				random := rand.New(rand.NewPCG(first, 3))
				k.try(all[random.IntN(len(all))].varied(random), programs)
			}
		})
	}
	only := uint64(omptest.Number(t, "only", 0))
	for first := seed; first < seed+n && !stopped(); first += batch {
		if only == 0 || only >= first && only < first+batch { // the batch decides how its programs are built
			batches <- first
		}
	}
	close(batches)
	workers.Wait()
	t.Log(&spent)
	t.Log(k.sum())
	for _, what := range slices.Sorted(maps.Keys(k.counts)) {
		t.Logf("%6d %s", k.counts[what], what)
	}
}

// stopped reports whether a long run must end: the file of the option stop exists.
func stopped() bool {
	_, err := os.Stat(omptest.Option("stop"))
	return err == nil
}

func (k *campaign) counted(what string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[what]
}

func (k *campaign) count(what string, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counts[what] += n
}

// begin counts a program, and sometimes logs the counts so far: an interrupted run counts too.
func (k *campaign) begin() {
	k.count("programs", 1)
	if k.counted("programs")%every == 0 {
		k.t.Log(k.sum())
	}
}

// sum returns all counts, in one line.
func (k *campaign) sum() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := fmt.Sprintf("so far: %d programs, %d hangs, %d looks, %d at cores", k.counts["programs"],
		k.counts["hangs"], k.counts["looks"], k.counts["looks at cores"])
	for _, what := range slices.Sorted(maps.Keys(k.counts)) {
		if class, ok := strings.CutPrefix(what, programsWith); ok {
			text += fmt.Sprintf(", %d with %s", k.counts[what], class)
		}
	}
	return text
}

// programsWith is the start of the counters of failed programs; the first finding follows.
const programsWith = "programs that failed: "

// try builds some programs, and runs each in one of the ways to wait.
func (k *campaign) try(c Config, programs []*Program) {
	dir, err := os.MkdirTemp(k.dir, "batch")
	if err != nil {
		k.t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	exe, err := k.common.build(dir, c, programs)
	if err != nil {
		k.t.Errorf("seed %d: %v", programs[0].Seed, err)
		return
	}
	for i, p := range programs {
		k.begin()
		k.count("programs with "+string(p.Mistake), 1)
		c.Env = modes[p.Seed%uint64(len(modes))]
		for range k.times(p) {
			out, err := Run(exe, c, p, i, p.Seed/2%coreTurn == 0)
			if err != nil {
				k.t.Errorf("seed %d (%s), %s: %v", p.Seed, p.Mistake, c, err)
				k.count(programsWith+"error", 1)
				continue
			}
			k.note(c, p, out)
		}
	}
}

// times returns the number of runs of a program: that of the option times, or 1; 0 if the option only is another
// seed.
func (k *campaign) times(p *Program) int {
	if only := omptest.Number(k.t, "only", int(p.Seed)); uint64(only) != p.Seed {
		return 0
	}
	return omptest.Number(k.t, "times", 1)
}

// note counts the outcome of a program, and keeps the program if it failed.
func (k *campaign) note(c Config, p *Program, out Outcome) {
	k.count("runs", 1)
	k.count("runs: "+c.name(), 1)
	k.count("looks", out.Looks)
	k.count("looks at cores", out.Cores)
	if out.Died {
		k.count(fmt.Sprintf("died of %q", p.Mistake), 1)
	}
	if out.Hang {
		k.count("hangs", 1)
		k.count("hangs: "+c.name(), 1)
		k.count(fmt.Sprintf("hang of %q: %v", p.Mistake, out.Kinds), 1)
	} else if p.Mistake != Healthy && !out.Died {
		k.count(fmt.Sprintf("no hang of %q", p.Mistake), 1)
	}
	if out.Handlers {
		k.count("hangs that a signal's handler might end", 1)
	}
	for _, f := range out.Findings {
		k.count("finding: "+f.Class, 1)
		k.count("finding: "+c.name()+": "+f.Class, 1)
		k.t.Errorf("seed %d, %q, %s: %s: %s", p.Seed, p.Mistake, c, f.Class, f.Text)
	}
	if len(out.Findings) > 0 {
		k.count(programsWith+out.Findings[0].Class, 1)
	}
	if len(out.Findings) > 0 && k.keep != "" {
		cause := fmt.Sprintf("programs with a finding: %s of %q", out.Findings[0].Class, p.Mistake)
		k.count(cause, 1)
		k.keepShrunk(c, p, out, k.counted(cause) > omptest.Number(k.t, "shrink", shrunk))
	}
}

// keepShrunk makes a failed program small, unless it must be kept whole, and writes it with the picture of the
// first failure, which may not occur again.
func (k *campaign) keepShrunk(c Config, p *Program, out Outcome, whole bool) {
	class := out.Findings[0].Class
	path := filepath.Join(k.keep, strings.ReplaceAll(class, " ", "-")+"-"+strconv.FormatUint(p.Seed, 10))
	pic, err := json.MarshalIndent(struct {
		Findings []Finding
		Picture  *picture.Picture
	}{out.Findings, out.Picture}, "", " ")
	if err == nil {
		err = os.MkdirAll(k.keep, 0o755)
	}
	if err == nil {
		err = os.WriteFile(path+".picture", pic, 0o644)
	}
	small := p
	if !whole {
		var failed bool
		small, failed = shrink(p, func(p *Program) bool { return k.fails(c, p, class) }, shrinkTrials)
		if !failed {
			k.count("not seen again: "+class, 1)
		}
	}
	if err == nil {
		err = newSpecimen(c, small, class, p.Seed).write(path + ".json")
	}
	if err != nil {
		k.t.Error(err)
	}
}
