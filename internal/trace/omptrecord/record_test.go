package omptrecord

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// filled returns records of all types, with a different number in each field.
func filled(t *testing.T) (all []Record) {
	t.Helper()
	for code := range uint32(len(bodies)) {
		if code == 0 {
			continue
		}
		body, err := newBody(code)
		if err != nil {
			t.Fatal(err)
		}
		r := Record{Type: code, Time: 1<<40 + uint64(code), ThreadID: 2<<40 + 1, Target: 3<<40 + 2, Body: body}
		if body != nil {
			n := uint64(0)
			walk(reflect.ValueOf(body).Elem(), 0, func(field reflect.Value, _ int) {
				n++
				v := n*0x0101010101010101 ^ uint64(code)<<56 | 1<<31
				switch field.Kind() {
				case reflect.Int32:
					field.SetInt(int64(int32(uint32(v))))
				case reflect.Uint32:
					field.SetUint(uint64(uint32(v)))
				default:
					field.SetUint(v)
				}
			})
		}
		all = append(all, r)
	}
	return all
}

var humps = regexp.MustCompile(`([a-z])([A-Z])`)

// snake returns the standard's form of one of our names.
func snake(name string) string { return strings.ToLower(humps.ReplaceAllString(name, "${1}_$2")) }

// source returns a C program that writes the same records.
func source(all []Record) string {
	var b strings.Builder
	b.WriteString("#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <omp-tools.h>\n" +
		"#define SET(f, v) do { uint64_t v_ = v; memcpy(&f, &v_, sizeof f); } while (0)\n" +
		"int main(void) {\n  ompt_record_ompt_t r;\n")
	for _, r := range all {
		fmt.Fprintf(&b, "  memset(&r, 0, sizeof r);\n  r.type = %d; r.time = %dull;\n", r.Type, r.Time)
		fmt.Fprintf(&b, "  r.thread_id = %dull; r.target_id = %dull;\n", r.ThreadID, r.Target)
		if r.Body != nil {
			v := reflect.ValueOf(r.Body).Elem()
			member := snake(v.Type().Name())
			fmt.Fprintf(&b, "  { ompt_record_%s_t *m = (void *)&r.record;\n", member)
			fields(&b, "m->", v)
			b.WriteString("  }\n")
		}
		b.WriteString("  fwrite(&r, sizeof r, 1, stdout);\n")
	}
	b.WriteString("  return 0;\n}\n")
	return b.String()
}

func fields(b *strings.Builder, prefix string, v reflect.Value) {
	for i := range v.NumField() {
		name, field := prefix+snake(v.Type().Field(i).Name), v.Field(i)
		switch {
		case field.Kind() == reflect.Struct:
			fields(b, name+".", field)
		case field.CanInt():
			fmt.Fprintf(b, "  SET(%s, %dll);\n", name, field.Int())
		default:
			fmt.Fprintf(b, "  SET(%s, %dull);\n", name, field.Uint())
		}
	}
}

// encoded returns the bytes of records.
func encoded(t *testing.T, all []Record) (out []byte) {
	t.Helper()
	for _, r := range all {
		var err error
		if out, err = r.Append(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestBytes compares the bytes of each record with those of a C program with the header of LLVM's runtime,
// compiled for both architectures.
func TestBytes(t *testing.T) {
	all := filled(t)
	want := encoded(t, all)
	if n := distinct(all); n != 23 {
		t.Errorf("%d types of bodies, want 23", n)
	}
	for _, c := range []struct{ compiler, header, run string }{
		{"gcc", "usr/lib/llvm-16/lib/clang/16/include/omp-tools.h", ""},
		{"gcc", "usr/lib/llvm-19/lib/clang/19/include/omp-tools.h", ""},
		{"aarch64-linux-gnu-gcc", "usr/lib/llvm-19/lib/clang/19/include/omp-tools.h", "qemu-aarch64"},
	} {
		version := regexp.MustCompile(`llvm-\d+`).FindString(c.header)
		t.Run(c.compiler+" "+version, func(t *testing.T) {
			for _, tool := range []string{c.compiler, c.run} {
				if tool != "" {
					omptest.Program(t, tool)
				}
			}
			header := omptest.PackageFile(t, "libomp-"+strings.TrimPrefix(version, "llvm-")+"-dev", c.header)
			if got := compiled(t, c.compiler, c.run, filepath.Dir(header), source(all)); !bytes.Equal(got, want) {
				for i := range all {
					if n := i * Size; len(got) >= n+Size && !bytes.Equal(got[n:n+Size], want[n:n+Size]) {
						t.Errorf("%T is\n%x, want\n%x", all[i].Body, want[n:n+Size], got[n:n+Size])
					}
				}
				t.Errorf("%d bytes, want %d", len(want), len(got))
			}
		})
	}
}

func distinct(all []Record) int {
	types := map[reflect.Type]bool{}
	for _, r := range all {
		if r.Body != nil {
			types[reflect.TypeOf(r.Body)] = true
		}
	}
	return len(types)
}

// compiled compiles a program, runs it, and returns its output.
func compiled(t *testing.T, compiler, emulator, include, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "records.c"), filepath.Join(dir, "records")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-static", "-I" + include, "-o", exe, file}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	argv := []string{exe}
	if emulator != "" {
		argv = []string{emulator, exe}
	}
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	return out
}

// TestParse decodes encoded records.
func TestParse(t *testing.T) {
	all := filled(t)
	b := encoded(t, all)
	for _, want := range all {
		got, err := Parse(b)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v is read as %+v, error %v", want, got, err)
		}
		b = b[Size:]
	}
	if _, err := Parse(make([]byte, Size-1)); !errors.Is(err, ErrShort) {
		t.Error(err)
	}
	if _, err := Parse(make([]byte, Size)); !errors.Is(err, ErrType) {
		t.Error(err)
	}
	if _, err := (&Record{Type: 3, Body: &Work{}}).Append(nil); !errors.Is(err, ErrBody) {
		t.Error(err)
	}
	if _, err := (&Record{Type: 99}).Append(nil); !errors.Is(err, ErrType) {
		t.Error(err)
	}
}

// TestNoBody lists the callbacks without a record in OpenMP 5.1: all others have one.
func TestNoBody(t *testing.T) {
	var without []uint32
	for code := range uint32(len(bodies)) {
		if body, err := newBody(code); err == nil && body == nil {
			without = append(without, code)
		}
	}
	if want := []uint32{2, 12, 13, 14, 15}; !slices.Equal(without, want) {
		t.Errorf("no record is defined for the types %v, want %v", without, want)
	}
}
