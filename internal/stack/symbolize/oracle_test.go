package symbolize

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// answer is one frame from llvm-symbolizer.
type answer struct {
	FunctionName, FileName string
	Line, Column           int
}

// askLLVM runs llvm-symbolizer for addresses of a file.
func askLLVM(t *testing.T, file string, addrs []uint64) [][]answer {
	t.Helper()
	omptest.Needs(t, "llvm-symbolizer")
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(omptest.Program(t, "llvm-symbolizer-16"), "--output-style=JSON", "--no-demangle", "--obj="+file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("llvm-symbolizer-16: %v", err)
	}
	var list [][]answer
	d := json.NewDecoder(strings.NewReader(string(out)))
	for d.More() {
		var reply struct{ Symbol []answer }
		if err := d.Decode(&reply); err != nil {
			t.Fatal(err)
		}
		list = append(list, reply.Symbol)
	}
	if len(list) != len(addrs) {
		t.Fatalf("llvm-symbolizer-16 gave %d answers for %d addresses", len(list), len(addrs))
	}
	return list
}

// TestAgainstLLVM compares all frames, functions, files, lines and columns with llvm-symbolizer's
// at the same addresses.
func TestAgainstLLVM(t *testing.T) {
	pwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		compiler string
		flags    string
	}{
		{"g++", "-g -O0"}, {"g++", "-g -O2"}, {"g++", "-g -O2 -flto"}, {"g++", "-g -O2 -no-pie -gz=zlib"},
		{"g++", "-gdwarf-4 -O3 -ffunction-sections -Wl,--gc-sections"}, {"g++", "-gdwarf-3 -gdwarf64 -O2"},
		{"g++", "-g -O1 -fdebug-prefix-map=PWD=./mapped"}, {"g++", "-gdwarf-4 -O1 -fdebug-prefix-map=PWD=./mapped"},
		{"clang++-16", "-g -O1 -fdebug-prefix-map=PWD=./mapped"}, {"clang++-16", "-g -O0"},
		{"clang++-16", "-g -O2 -gz=zstd"}, {"clang++-16", "-gdwarf-4 -O2 -fdebug-types-section"},
		{"clang++-16", "-g -O2 -gdwarf-aranges -ffunction-sections -Wl,--gc-sections"},
		{"clang++-16", "-gline-tables-only -O2"},
	} {
		t.Run(tt.compiler+tt.flags, func(t *testing.T) {
			file := compile(t, "shapes.cc", tt.compiler, strings.Fields(strings.ReplaceAll(tt.flags, "PWD", pwd))...)
			compareWithLLVM(t, file)
		})
	}
}

// TestAgainstLLVMOnAArch64 compares on the other architecture.
func TestAgainstLLVMOnAArch64(t *testing.T) {
	for _, flag := range []string{"-O0", "-O2"} {
		object := compile(t, "small.cc", "clang++-16", "--target=aarch64-linux-gnu", "-g", flag, "-fPIC", "-c")
		file := filepath.Join(t.TempDir(), "small")
		runTool(t, "ld.lld-16", "-shared", "-o", file, object)
		compareWithLLVM(t, file)
	}
}

// compareWithLLVM checks that llvm-symbolizer and the package agree on a file.
func compareWithLLVM(t *testing.T, file string) {
	t.Helper()
	s := openSymbolizer(t, file)
	addrs := codeAddresses(t, file, 1000)
	values := symbolValues(t, file)
	for i, want := range askLLVM(t, file, addrs) {
		got, err := s.Code(addrs[i] + bias)
		if err != nil {
			t.Fatal(err)
		}
		if d := describeDifference(got, want, values); d != "" {
			t.Errorf("%#x: %s\n got %+v\nwant %+v", addrs[i], d, got, want)
		}
	}
}

// symbolValues returns the values of the symbols of a file.
func symbolValues(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	values := map[string]uint64{}
	for _, s := range symbolsOf(t, file) {
		values[s.Name] = s.Value
	}
	return values
}

// TestOldCompression compares a file with .zdebug sections, which llvm-symbolizer no longer reads,
// with the same file without.
func TestOldCompression(t *testing.T) {
	packed := compile(t, "shapes.cc", "g++", "-gdwarf-4", "-O2", "-gz=zlib-gnu")
	if sections := runTool(t, "readelf", "-SW", packed); !strings.Contains(sections, ".zdebug_info") {
		t.Fatalf("no .zdebug_info in %s", sections)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	runTool(t, "objcopy", "--decompress-debug-sections", packed, plain)
	sameFrames(t, packed, openSymbolizer(t, packed), openSymbolizer(t, plain))
}

// describeDifference describes the first difference between frames. These do not count:
//   - Of several symbols at one address we take the shortest and then the first
//     by name; llvm-symbolizer takes the last of the table.
//   - Code without a line gets that of the code before it, as in gdb.
//   - Code without debug information has no file; llvm-symbolizer gives it the
//     STT_FILE symbol that is before its symbol.
func describeDifference(got []Frame, want []answer, values map[string]uint64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d frames, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		file := w.FileName
		if file != "" {
			file = path.Clean(file)
		}
		if g.Near && w.Line == 0 {
			g.Line, g.Column, g.File = 0, w.Column, file
		}
		if w.Line == 0 && g.File == "" && !path.IsAbs(file) {
			file = ""
		}
		name := w.FunctionName
		if v, ok := values[name]; ok && v == values[g.Linkage] {
			name = g.Linkage
		}
		if g.Linkage != name || g.Line != w.Line || g.Column != w.Column || g.File != file {
			return fmt.Sprintf("frame %d differs", i)
		}
	}
	return ""
}
