package omptest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lib returns a directory of libraries.
func (m MPI) lib(sub string) string { return filepath.Join(m.root, "usr/lib/x86_64-linux-gnu", sub) }

// libraries returns the directories of libraries.
func (m MPI) libraries() []string {
	list := []string{m.lib(""), m.lib("openmpi/lib"), m.lib("pmix2/lib")}
	if m.own {
		return append(list, m.lib("blas"), m.lib("lapack"))
	}
	return append(list, filepath.Join(m.root, "lib/x86_64-linux-gnu"))
}

// Compile builds testdata/mpi/ranks.c by GCC and returns the path of the executable.
func (m MPI) Compile(tb testing.TB, flags ...string) string {
	tb.Helper()
	return m.CompileBy(tb, GCC, "ranks.c", flags...)
}

// CompileBy builds a source of testdata/mpi and returns the path of the executable.
func (m MPI) CompileBy(tb testing.TB, by Compiler, file string, flags ...string) string {
	tb.Helper()
	source := filepath.Join(filepath.Dir(Programs(tb)), "mpi", file)
	compiler := by.forSource(tb, source)
	inputs := []any{source, m.Name, m.root, flags, versionOf(tb, compiler), hashFile(tb, source)}
	dir := cached(tb, "executables", keyOf(inputs...), func(dir string) {
		args := slices.Concat([]string{"-fopenmp"}, flags)
		if filepath.Ext(file) == ".f90" {
			args = append(args, "-cpp", "-J"+dir)
		}
		args = slices.Concat(args, []string{"-o", filepath.Join(dir, "ranks"), file}, m.links(filepath.Ext(file)))
		if by == LLVM {
			args = append(args, "-Wl,-rpath,"+RuntimeOf(tb, 16).Dir)
		}
		command(tb, filepath.Dir(source), compiler, args...)
	})
	return filepath.Join(dir, "ranks")
}

// links returns the arguments for a compiler to find the headers, modules and libraries.
func (m MPI) links(ext string) []string {
	fortran := ext == ".f90"
	args := []string{"-Wl,--allow-shlib-undefined", "-L" + m.lib("")}
	family := strings.TrimRight(m.Name, "5")
	if fortran {
		args = append(args, "-I"+m.lib("fortran/gfortran-mod-15/"+family))
	}
	if family == "openmpi" {
		args = append(args, "-I"+m.lib("openmpi/include"), "-L"+m.lib("openmpi/lib"))
		if fortran {
			args = append(args, "-lmpi_usempif08", "-lmpi_usempi_ignore_tkr", "-lmpi_mpifh")
		}
	}
	switch {
	case m.own:
		args = append(args, "-l:libmpi.so.40", "-Wl,--disable-new-dtags",
			"-Wl,--dynamic-linker="+m.loader(), "-Wl,-rpath,"+strings.Join(m.libraries(), ":"))
	case family == "openmpi":
		args = append(args, "-lmpi")
	default:
		args = append(args, "-I"+filepath.Join(m.root, "usr/include/x86_64-linux-gnu/mpich"))
		if fortran {
			args = append(args, "-lmpichfort")
		}
		args = append(args, "-lmpich")
	}
	return args
}

// loader returns the dynamic loader of m.
func (m MPI) loader() string { return m.lib("ld-linux-x86-64.so.2") }

// launcher returns the start of the command line that runs ranks.
func (m MPI) launcher() []string {
	switch {
	case m.own:
		return []string{m.loader(), "--library-path", strings.Join(m.libraries(), ":"),
			filepath.Join(m.root, "usr/bin/prterun"), "--personality", "ompi"}
	case m.Name == "mpich":
		return []string{"mpiexec.hydra"}
	}
	return []string{"orterun"}
}

// Env returns the environment for its programs and launchers.
func (m MPI) Env() []string {
	usr := filepath.Join(m.root, "usr")
	env := []string{
		"HOME=" + os.Getenv("HOME"), "OPAL_PREFIX=" + usr, "OMPI_MCA_mpi_yield_when_idle=1",
		"OMP_NUM_THREADS=2", "OMP_WAIT_POLICY=passive",
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	}
	if m.own {
		return append(env, "PATH="+os.Getenv("PATH"), "PMIX_PREFIX="+usr, "PRTE_PREFIX="+usr, "OMPI_MCA_btl=self,sm",
			"OMPI_MCA_pml=ob1",
			"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "PRTE_MCA_hwloc_default_binding_policy=none")
	}
	return append(env,
		"LD_LIBRARY_PATH="+strings.Join(m.libraries(), ":"),
		"PATH="+filepath.Join(m.root, "usr/bin")+":"+os.Getenv("PATH"),
		"OMPI_MCA_plm_rsh_agent=false", "OMPI_MCA_rmaps_base_oversubscribe=1",
		"OMPI_MCA_hwloc_base_binding_policy=none",
		"OMPI_MCA_btl=self,vader", "OMPI_MCA_btl_base_warn_component_unused=0",
		"OMPI_MCA_mca_base_component_show_load_errors=0")
}
