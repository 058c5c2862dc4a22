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

// llvmRuntimes are where LLVM's runtime lies, the last name first: Debian's packages and others.
var llvmRuntimes = []string{
	"/usr/lib/llvm-*/lib/libomp.so.5", "/usr/lib/*-linux-gnu/libomp.so.5", "/usr/lib64/libomp.so",
	"/usr/lib/libomp.so",
}

// onLLVM is the environment in which a program of GCC runs on LLVM's runtime, which stands
// before GNU's and has its functions. Nothing is done if it lacks one that the program calls.
func (rec *recordFlags) onLLVM(program string, env environ) (environ, error) {
	library, err := rec.llvmRuntime()
	if err != nil {
		return nil, err
	}
	missing, err := missingFunctions(program, library)
	if err != nil {
		return nil, fmt.Errorf("--runtime: %w", err)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("--runtime: %s lacks what %s calls: %s; leave --runtime out", library, program,
			strings.Join(missing[:min(len(missing), missingShown)], ", "))
	}
	env.set("LD_PRELOAD", strings.TrimSuffix(library+":"+env.get("LD_PRELOAD"), ":"))
	return env, nil
}

// ownRuntime is the value of --runtime that means LLVM's runtime, wherever it is.
const ownRuntime = "libomp"

// missingShown bounds the functions that an error names.
const missingShown = 8

// llvmRuntime is the file of LLVM's runtime.
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
	return "", errors.New("--runtime: there is no libomp.so.5: install libomp5, or name the file, " +
		"--runtime=/path/libomp.so.5")
}

// missingFunctions are the functions of OpenMP that a program of GNU's runtime calls and
// that a library does not have, with the same version.
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
		return nil, fmt.Errorf("%s does not use GNU's runtime: leave --runtime out", path)
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

// isOpenMP reports whether a function is one that libgomp has.
func isOpenMP(name string) bool {
	return strings.HasPrefix(name, "GOMP_") || strings.HasPrefix(name, "omp_") || strings.HasPrefix(name, "GOACC_")
}
