package symbolize

import (
	"debug/dwarf"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/image/dwarfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// TestVariablesOfUnits compares the variables that package dwarfx finds, without reading the other entries, with those
// of a complete reading by debug/dwarf. The programs have variables in functions, blocks, classes, namespaces, modules
// and common blocks.
func TestVariablesOfUnits(t *testing.T) {
	for _, tt := range []struct {
		source, compiler string
		flags            []string
	}{
		{"shapes.cc", "g++", []string{"-g", "-O0"}},
		{"shapes.cc", "g++", []string{"-g", "-O2", "-gdwarf-4"}},
		{"shapes.cc", "g++", []string{"-g", "-O2", "-gdwarf-2", "-fdebug-types-section"}},
		{"shapes.cc", "clang++-16", []string{"-g", "-O2"}},
		{"split.c", "gcc", []string{"-g", "-O0", "-gdwarf-3"}},
		{"variables.f90", "gfortran", []string{"-g", "-O0", "-J", t.TempDir()}},
	} {
		file := compile(t, tt.source, tt.compiler, tt.flags...)
		m := loadModule(t, file, bias)
		f, err := elfx.Open(m.Image)
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		var got []dwarfx.Variable
		for u := range dwarfx.New(sectionsOf(f), nil, nil).Units {
			if !u.Variables(func(v dwarfx.Variable) bool { got = append(got, v); return true }) {
				t.Errorf("%s %v: a unit is damaged", tt.compiler, tt.flags)
			}
		}
		want := allVariables(t, data)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s %s %v: variables %+v, want %+v", tt.compiler, tt.source, tt.flags, got, want)
		}
		common := slices.ContainsFunc(got, func(v dwarfx.Variable) bool { return v.Common })
		if isFortran := tt.compiler == "gfortran"; common != isFortran {
			t.Errorf("%s %s: member of a common block: %v", tt.compiler, tt.source, common)
		}
	}
}

// allVariables returns the variables with an expression as their location, of all entries.
func allVariables(t *testing.T, data *dwarf.Data) (out []dwarfx.Variable) {
	t.Helper()
	r := data.Reader()
	common := false
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return out
		}
		switch e.Tag {
		case dwarf.TagVariable:
			loc := e.AttrField(dwarf.AttrLocation)
			if loc == nil || loc.Class != dwarf.ClassExprLoc && loc.Class != dwarf.ClassBlock {
				break
			}
			v := dwarfx.Variable{Entry: uint64(e.Offset), Common: common}
			if b := loc.Val.([]byte); len(b) > 0 {
				v.Operation = b[0]
			}
			out = append(out, v)
		case dwarf.TagCommonDwarfBlock:
			common = e.Children
		case 0:
			common = false
		case dwarf.TagCompileUnit, dwarf.TagSubprogram, dwarf.TagLexDwarfBlock, dwarf.TagNamespace, dwarf.TagModule:
		default:
			r.SkipChildren()
		}
	}
}
