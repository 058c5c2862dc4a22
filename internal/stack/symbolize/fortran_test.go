package symbolize

import (
	"path/filepath"
	"testing"
)

// TestFortran checks the names of procedures in a module, inside another, and
// outside, of the program, and the line of a directive.
func TestFortran(t *testing.T) {
	for _, tt := range []struct {
		compiler string
		flags    []string
		names    map[string]string // by symbol
		region   string
		line     int // of the directive, which flang does not record: there, of a variable of the region
	}{
		{"gfortran", []string{"-g", "-O0"}, map[string]string{
			"__heat_MOD_solve": "heat::solve", "add_one.0": "add_one", "outside_": "outside", "MAIN__": "simulate",
			"main": "main",
		}, "__heat_MOD_solve._omp_fn.0", 9},
		{"gfortran", []string{"-g", "-O2", "-fno-inline"}, map[string]string{
			"__heat_MOD_solve": "heat::solve", "outside_": "outside", "MAIN__": "simulate",
		}, "__heat_MOD_solve._omp_fn.0", 9},
		{"gfortran", []string{"-O0"}, map[string]string{ // no debug information: nothing says that it is Fortran
			"__heat_MOD_solve": "heat::solve", "add_one.0": "add_one.0", "outside_": "outside_",
			"MAIN__": "main program",
		}, "", 0},
		{"flang-new-19", []string{"-g", "-O0"}, map[string]string{
			"_QMheatPsolve": "heat::solve", "_QMheatFsolvePadd_one": "heat::solve::add_one", "outside_": "outside",
			"_QQmain": "main program",
		}, "_QMheatPsolve..omp_par", 7},
	} {
		t.Run(tt.compiler+tt.flags[0], func(t *testing.T) {
			file := fortran(t, tt.compiler, tt.flags)
			s, names := open(t, file), open(t, file)
			for symbol, want := range tt.names {
				pc := address(t, file, symbol)
				if f, err := names.Function(pc); err != nil || f.Function != want || f.Linkage != symbol {
					t.Errorf("Function(%s) = %+v, %v; want %s", symbol, f, err, want)
				}
				f, err := s.Code(pc)
				if err != nil || f[len(f)-1].Function != want {
					t.Errorf("Code(%s) = %+v, %v; want %s", symbol, f, err, want)
				}
			}
			if tt.region == "" {
				return
			}
			path, line, err := s.DeclLine(address(t, file, tt.region))
			if err != nil || filepath.Base(path) != "heat.f90" || line != tt.line {
				t.Errorf("%s is declared at %s:%d, %v; want line %d", tt.region, path, line, err, tt.line)
			}
		})
	}
}

// TestFortranMain names a program that is called main as any that has no name in the debug information.
func TestFortranMain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main")
	run(t, "gfortran", "-fopenmp", "-o", file, compile(t, "main.f90", "gfortran", "-g", "-O2", "-fopenmp", "-c"))
	pc := address(t, file, "MAIN__")
	if f, err := open(t, file).Code(pc); err != nil || f[len(f)-1].Function != "main program" {
		t.Errorf("Code = %+v, %v; want the main program", f, err)
	}
}

// fortran builds testdata/heat.f90. What flang makes is linked without its
// libraries: it need not run.
func fortran(t *testing.T, compiler string, flags []string) string {
	t.Helper()
	dir := t.TempDir()
	object := compile(t, "heat.f90", compiler, append(flags, "-fopenmp", "-c", "-J", dir)...)
	out := filepath.Join(dir, "heat")
	if compiler == "gfortran" {
		run(t, compiler, "-fopenmp", "-o", out, object)
	} else {
		run(t, "gcc", "-shared", "-o", out, object)
	}
	return out
}
