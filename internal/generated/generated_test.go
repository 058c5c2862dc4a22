package generated

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// batch is how many programs are built into one executable.
const batch = 12

// number reads a variable of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// configs are the ways to build and run programs.
func configs(t *testing.T) []Config {
	t.Helper()
	var all []Config
	passive := []string{"OMP_WAIT_POLICY=passive", "KMP_BLOCKTIME=0", "GOMP_SPINCOUNT=0"}
	active := []string{"OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite"}
	add := func(compiler, level string, r omptest.Runtime, env []string) {
		path, err := exec.LookPath(compiler)
		if err != nil {
			t.Fatal(err)
		}
		plus, err := exec.LookPath(strings.NewReplacer("gcc", "g++", "clang", "clang++").Replace(compiler))
		if err != nil {
			t.Fatal(err)
		}
		c := Config{Compiler: path, Flags: []string{level}, Library: r.Dir, Env: env}
		all = append(all, c)
		c.Plus = plus
		all = append(all, c)
	}
	gnu := omptest.Libgomps(t)
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		for i, env := range [][]string{passive, nil, passive, active} {
			add("gcc", level, gnu[i%2], env)
		}
		// A program runs on the runtime of its compiler's version, or on a later one.
		for compiler, majors := range map[string][]int{
			"clang-14": {14, 19, 15}, "clang-16": {16, 19, 16}, "clang-19": {19, 19, 19},
		} {
			for i, env := range [][]string{passive, nil, active} {
				add(compiler, level, omptest.RuntimeOf(t, majors[i]), env)
			}
		}
	}
	slices.SortFunc(all, func(a, b Config) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// TestGenerated holds the tool against random programs. OMPD_GENERATED says how many,
// OMPD_SEED which the first is, OMPD_KEEP where programs are kept of which something is wrong.
func TestGenerated(t *testing.T) {
	omptest.Needs(t, "compilers")
	// The few of an ordinary run are always the same: what new ones find is for who looks for it.
	n := number(t, "OMPD_GENERATED", 2*batch)
	seed := number(t, "OMPD_SEED", 1)
	t.Logf("OMPD_SEED=%d OMPD_GENERATED=%d", seed, n)
	all := configs(t)
	sum := map[string]int{}
	for first := seed; first < seed+n; first += batch {
		c := all[rand.New(rand.NewPCG(first, 3)).IntN(len(all))]
		var programs []*Program
		for i := first; i < min(first+batch, seed+n); i++ {
			programs = append(programs, New(i))
		}
		try(t, c, programs, sum)
	}
	var lines []string
	for what, count := range sum {
		lines = append(lines, fmt.Sprintf("%6d %s", count, what))
	}
	slices.Sort(lines)
	t.Logf("counts:\n%s", strings.Join(lines, "\n"))
}

// try builds and runs some programs.
func try(t *testing.T, c Config, programs []*Program, sum map[string]int) {
	dir := t.TempDir()
	exe, err := Build(dir, c, programs)
	if err != nil {
		t.Fatalf("seed %d: %v", programs[0].Seed, err)
	}
	keep := os.Getenv("OMPD_KEEP")
	for i, p := range programs {
		out, err := Run(exe, c, p, i)
		if err != nil {
			t.Errorf("seed %d (%s), %s: %v", p.Seed, p.Mistake, c, err)
			continue
		}
		sum["programs"]++
		sum["looks"] += out.Looks
		sum["cores"] += out.Cores
		if out.Hang {
			sum["hangs"]++
			sum[fmt.Sprintf("hang of %q: %v", p.Mistake, out.Kinds)]++
		} else if p.Mistake != Healthy {
			sum[fmt.Sprintf("no hang of %q", p.Mistake)]++
		}
		for _, f := range out.Findings {
			sum["finding: "+f.Class]++
			t.Errorf("seed %d of batch %d, %q, %s: %s: %s", p.Seed, programs[0].Seed, p.Mistake, c, f.Class, f.Text)
		}
		if len(out.Findings) > 0 && keep != "" {
			to := filepath.Join(keep, fmt.Sprint(p.Seed))
			_ = os.MkdirAll(to, 0o755)
			for _, name := range append(c.sources(), "programs", "gen.c", "gen.h") {
				if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
					_ = os.WriteFile(filepath.Join(to, name), data, 0o755)
				}
			}
		}
	}
}
