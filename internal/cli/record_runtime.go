package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// llvmRuntimes lists the paths of LLVM's runtime; Debian's packages come last.
var llvmRuntimes = []string{
	"/usr/lib/llvm-*/lib/libomp.so.5", "/usr/lib/*-linux-gnu/libomp.so.5", "/usr/lib64/libomp.so",
	"/usr/lib/libomp.so",
}

// withLLVM returns the environment in which a program of GCC runs on LLVM's runtime. LLVM's runtime is
// preloaded and provides GNU's functions. withLLVM returns an error if it lacks one that the program calls.
func (rec *recordFlags) withLLVM(program string, env environ) (environ, error) {
	library, err := rec.llvmRuntime()
	if err != nil {
		return nil, err
	}
	missing, err := missingFunctions(program, library)
	if err != nil {
		return nil, fmt.Errorf("--runtime: %w", err)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("--runtime: %s lacks functions that %s calls: %s; leave out --runtime", library, program,
			strings.Join(missing[:min(len(missing), missingShown)], ", "))
	}
	env.preload(library)
	return env, nil
}

// ownRuntime is the value of --runtime that means the installed LLVM runtime.
const ownRuntime = "libomp"

// missingShown is the number of functions that an error lists.
const missingShown = 8

// llvmRuntime returns the path of LLVM's runtime.
func (rec *recordFlags) llvmRuntime() (string, error) {
	if rec.runtime != ownRuntime {
		path, err := filepath.Abs(rec.runtime)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", fmt.Errorf("--runtime: %w", err)
		}
		return path, nil
	}
	for _, pattern := range llvmRuntimes {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", errors.New("--runtime: libomp.so.5 was not found: install libomp5, or name the file, " +
		"--runtime=/path/libomp.so.5")
}

// missingFunctions returns the functions of OpenMP that a program of GNU's runtime calls and a library lacks,
// in the same version.
func missingFunctions(program, library string) ([]string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	needs, closer, err := elfx.OpenPath(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: name the program itself, not a script", path, err)
	}
	defer closer.Close()
	if !slices.Contains(needs.Needed(), "libgomp.so.1") {
		return nil, fmt.Errorf("%s does not use GNU's runtime: leave out --runtime", path)
	}
	has, closerOfHas, err := elfx.OpenPath(library)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", library, err)
	}
	defer closerOfHas.Close()
	wanted, err := needs.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	there, err := has.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", library, err)
	}
	type function struct{ name, version string }
	known := map[function]bool{}
	for i := range there {
		if s := &there[i]; s.Defined() {
			known[function{s.Name, s.Version}] = true
		}
	}
	var missing []string
	for i := range wanted {
		s := &wanted[i]
		if !s.Defined() && isOpenMP(s.Name) && !known[function{s.Name, s.Version}] {
			missing = append(missing, s.Name+"@"+s.Version)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// isOpenMP reports whether a function belongs to libgomp's interface.
func isOpenMP(name string) bool {
	return strings.HasPrefix(name, "GOMP_") || strings.HasPrefix(name, "omp_") || strings.HasPrefix(name, "GOACC_")
}
