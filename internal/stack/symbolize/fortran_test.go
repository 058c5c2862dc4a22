package symbolize

import (
	"path/filepath"
	"testing"
)

// TestFortran checks the names of procedures in a module, inside another procedure, and outside, of
// the main program, and the line of a directive.
func TestFortran(t *testing.T) {
	for _, tt := range []struct {
		compiler string
		flags    []string
		names    map[string]string // by symbol
		region   string
		line     int // of the directive; flang does not record it, so of a variable of the region
	}{
		{"gfortran", []string{"-g", "-O0"}, map[string]string{
			"__heat_MOD_solve": "heat::solve", "add_one.0": "add_one", "outside_": "outside", "MAIN__": "simulate",
			"main": "main",
		}, "__heat_MOD_solve._omp_fn.0", 9},
		{"gfortran", []string{"-g", "-O2", "-fno-inline"}, map[string]string{
			"__heat_MOD_solve": "heat::solve", "outside_": "outside", "MAIN__": "simulate",
		}, "__heat_MOD_solve._omp_fn.0", 9},
		{"gfortran", []string{"-O0"}, map[string]string{ // no debug information: Fortran is not recognized
			"__heat_MOD_solve": "heat::solve", "add_one.0": "add_one.0", "outside_": "outside_",
			"MAIN__": "main program",
		}, "", 0},
		{"flang-new-19", []string{"-g", "-O0"}, map[string]string{
			"_QMheatPsolve": "heat::solve", "_QMheatFsolvePadd_one": "heat::solve::add_one", "outside_": "outside",
			"_QQmain": "main program",
		}, "_QMheatPsolve..omp_par", 7},
	} {
		t.Run(tt.compiler+tt.flags[0], func(t *testing.T) {
			file := compileFortran(t, tt.compiler, tt.flags)
			s, names := openSymbolizer(t, file), openSymbolizer(t, file)
			for symbol, want := range tt.names {
				pc := addressOf(t, file, symbol)
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
			path, line, err := s.DeclLine(addressOf(t, file, tt.region))
			if err != nil || filepath.Base(path) != "heat.f90" || line != tt.line {
				t.Errorf("%s is declared at %s:%d, %v; want line %d", tt.region, path, line, err, tt.line)
			}
		})
	}
}

// TestFortranMain checks that a program named main in the source is shown like one without a name
// in the debug information.
func TestFortranMain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main")
	runTool(t, "gfortran", "-fopenmp", "-o", file, compile(t, "main.f90", "gfortran", "-g", "-O2", "-fopenmp", "-c"))
	pc := addressOf(t, file, "MAIN__")
	if f, err := openSymbolizer(t, file).Code(pc); err != nil || f[len(f)-1].Function != "main program" {
		t.Errorf("Code = %+v, %v; want the main program", f, err)
	}
}

// compileFortran builds testdata/heat.f90. Output of flang is linked without its libraries: it need not
// run.
func compileFortran(t *testing.T, compiler string, flags []string) string {
	t.Helper()
	dir := t.TempDir()
	object := compile(t, "heat.f90", compiler, append(flags, "-fopenmp", "-c", "-J", dir)...)
	out := filepath.Join(dir, "heat")
	if compiler == "gfortran" {
		runTool(t, compiler, "-fopenmp", "-o", out, object)
	} else {
		runTool(t, "gcc", "-shared", "-o", out, object)
	}
	return out
}
