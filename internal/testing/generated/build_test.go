package generated

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Config is a way to build programs, and the environment that is added for one run.
type Config struct {
	Compiler string // path
	Plus     string // path of the compiler for C++; empty for programs in C
	Flags    []string
	Far      string   // the optimization of the second file; empty: that of the first
	Extra    []string // flags of the two files only, as -flto
	Library  string   // directory of the runtime
	Runtime  string   // its name
	Env      []string // of the programs
}

// modes are the ways to wait in which one executable runs.
var modes = [][]string{
	{"OMP_WAIT_POLICY=passive", "KMP_BLOCKTIME=0", "GOMP_SPINCOUNT=0"},
	nil,
	{"OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite"},
}

// limits is the number of ways to limit nested regions: to one thread by their level, or by the number of all threads.
const limits = 2

// limitedBy returns the environment of a program's limits.
func limitedBy(p *Program) []string {
	switch p.Limit {
	case 1:
		return []string{"OMP_MAX_ACTIVE_LEVELS=1"}
	case limits:
		return []string{"OMP_MAX_ACTIVE_LEVELS=2", fmt.Sprintf("OMP_THREAD_LIMIT=%d", p.Threads+1)}
	}
	return []string{"OMP_MAX_ACTIVE_LEVELS=2"}
}

func (c Config) String() string {
	return fmt.Sprint(filepath.Base(cmp.Or(c.Plus, c.Compiler)), c.Flags, c.Far, c.Extra, c.Library, c.Env)
}

// name returns the names of the compiler and the runtime.
func (c Config) name() string { return filepath.Base(cmp.Or(c.Plus, c.Compiler)) + " " + c.Runtime }

// sources returns the names of the files of programs.
func (c Config) sources() []string {
	if c.Plus != "" {
		return []string{"programs.cc", "far.cc"}
	}
	return []string{"programs.c", "far.c"}
}

// common has the files shared by all programs of a compiler, compiled once.
type common struct {
	dir     string
	mu      sync.Mutex
	objects map[string]string // of the shared sources, by source, compiler and flags
	headers map[string]string // directories of the precompiled gen.h, in the same way
}

// newCommon writes the shared files into dir.
func newCommon(dir string) (*common, error) {
	for name, text := range map[string]string{"gen.c": genC, "gen.h": genH, "async.cc": asyncCC} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return &common{dir: dir, objects: map[string]string{}, headers: map[string]string{}}, nil
}

// withoutDetach is the runtime that has no detached tasks: it takes such a task for an ordinary one.
const withoutDetach = "libgomp-10"

// flags returns the flags of all sources.
func (c Config) flags(include string) []string {
	all := append([]string{"-g", "-fopenmp", "-pthread", "-pipe", "-w", "-I", include}, c.Flags...)
	if c.Runtime == withoutDetach {
		all = append(all, "-DGEN_NO_DETACH")
	}
	return all
}

// shared returns the compiled gen.c, and for C++ async.cc.
func (m *common) shared(c Config) (objects []string, err error) {
	sources := map[string]string{"gen.c": c.Compiler}
	if c.Plus != "" {
		sources["async.cc"] = c.Plus
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for source, compiler := range sources {
		key := fmt.Sprint(source, compiler, c.Flags)
		if m.objects[key] == "" {
			path := filepath.Join(m.dir, fmt.Sprintf("shared%d.o", len(m.objects)))
			if err := c.command(m.dir, compiler, append(c.flags(m.dir), "-c", source, "-o", path)); err != nil {
				return nil, err
			}
			m.objects[key] = path
		}
		objects = append(objects, m.objects[key])
	}
	return objects, nil
}

// header returns the directory of gen.h, which is precompiled for C++: most of a small program's cost.
func (m *common) header(c Config) (dir string, err error) {
	if c.Plus == "" {
		return m.dir, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(c.Plus, c.Flags, c.Runtime == withoutDetach)
	if dir := m.headers[key]; dir != "" {
		return dir, nil
	}
	dir = filepath.Join(m.dir, fmt.Sprintf("header%d", len(m.headers)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "gen.h"), []byte(genH), 0o644); err != nil {
		return "", err
	}
	args := append(c.flags(dir), "-x", "c++-header", "gen.h", "-o", filepath.Join(dir, precompiled))
	if err := c.command(dir, c.Plus, args); err != nil {
		return "", err
	}
	m.headers[key] = dir
	return dir, nil
}

// precompiled is the name under which GCC finds the precompiled header.
const precompiled = "gen.h.gch"

func (c Config) command(dir, name string, args []string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	spent.compilers.Add(int64(cpu(cmd.ProcessState)))
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}

// build compiles some programs into one executable in dir.
func (m *common) build(dir string, c Config, programs []*Program) (exe string, err error) {
	main, far, fortran := Sources(programs, c.Plus != "", c.fortran() != "")
	for i, text := range []string{main, far} {
		if err := os.WriteFile(filepath.Join(dir, c.sources()[i]), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	// The development package has the name by which compilers link LLVM's runtime.
	link := filepath.Join(dir, "libomp.so")
	_ = os.Remove(link)
	if err := os.Symlink(filepath.Join(c.Library, "libomp.so.5"), link); err != nil {
		return "", err
	}
	objects, err := m.shared(c)
	if err != nil {
		return "", err
	}
	include, err := m.header(c)
	if err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "programs")
	args := append(append(c.flags(include), objects...), "-L", dir, "-o", exe)
	if strings.Contains(c.Plus, "clang") {
		args = append(args, "-include-pch", filepath.Join(include, precompiled))
	}
	if fortran != "" {
		object, err := c.compileFortran(dir, fortran)
		if err != nil {
			return "", err
		}
		args = append(args, object)
	}
	compiler, sources := cmp.Or(c.Plus, c.Compiler), c.sources()
	args = append(args, c.Extra...)
	if c.Far != "" {
		// A precompiled header belongs to one level.
		flags := append(append(c.flags(m.dir), c.Extra...), c.Far)
		if err := c.command(dir, compiler, append(flags, "-c", sources[1], "-o", "far.o")); err != nil {
			return "", err
		}
		sources[1] = "far.o"
	}
	return exe, c.command(dir, compiler, append(args, sources...))
}

// fortran returns the path of the compiler for Fortran; empty if the configuration's compiler has none.
func (c Config) fortran() string {
	if filepath.Base(c.Compiler) != "gcc" {
		return ""
	}
	path, err := exec.LookPath("gfortran")
	if err != nil {
		return ""
	}
	return path
}

// compileFortran compiles the file in Fortran, at the level of the second file. Without its variables (-g1), the names
// of objects are those of gen.c.
func (c Config) compileFortran(dir, text string) (object string, err error) {
	if err := os.WriteFile(filepath.Join(dir, "fortran.f90"), []byte(text), 0o644); err != nil {
		return "", err
	}
	object = filepath.Join(dir, "fortran.o")
	args := append([]string{"-g1", "-fopenmp", "-pipe", "-w", "-J", dir}, c.Flags...)
	if c.Far != "" {
		args = append(args, c.Far)
	}
	return object, c.command(dir, c.fortran(), append(args, "-c", "fortran.f90", "-o", object))
}
