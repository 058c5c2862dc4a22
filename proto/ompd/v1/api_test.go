package ompdv1

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

var update = flag.Bool("update", false, "add what is new in the API to api.txt")

// TestNothingBreaks holds the API against api.txt, as `buf breaking` with FILE
// does against a former version: nothing that is listed may be gone, moved to
// another file, renumbered or of another type.
func TestNothingBreaks(t *testing.T) {
	b, err := os.ReadFile("api.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	was, is := strings.Fields(strings.ReplaceAll(string(b), " ", "\x00")), lines()
	for _, line := range was {
		if !slices.Contains(is, strings.ReplaceAll(line, "\x00", " ")) {
			t.Errorf("breaks its clients: there is no longer %q", strings.ReplaceAll(line, "\x00", " "))
		}
	}
	switch {
	case t.Failed() || len(was) == len(is):
	case !*update:
		t.Errorf("the API has %d elements, api.txt %d; if all are meant: go test ./proto/ompd/v1 -update", len(is),
			len(was))
	default:
		if err := os.WriteFile("api.txt", []byte(strings.Join(is, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines describe each element of the API in one line.
func lines() []string {
	var out []string
	add := func(d protoreflect.Descriptor, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s %s ", d.ParentFile().Path(), d.FullName())+fmt.Sprintf(format, args...))
	}
	for _, f := range files() {
		for m := range messages(f) {
			add(m, "message")
			for _, d := range list(m.Fields()) {
				add(d, "= %d %s", d.Number(), kindOf(d))
			}
		}
		for _, e := range enums(f) {
			add(e, "enum")
			for _, v := range list(e.Values()) {
				add(v, "= %d", v.Number())
			}
		}
		for _, s := range list(f.Services()) {
			for _, m := range list(s.Methods()) {
				add(m, "%v(%s) %v(%s)", m.IsStreamingClient(), m.Input().FullName(), m.IsStreamingServer(),
					m.Output().FullName())
			}
		}
	}
	slices.Sort(out)
	return out
}

// kindOf is the type of a field, with everything that its encoding depends on.
func kindOf(d protoreflect.FieldDescriptor) string {
	kind := d.Kind().String()
	switch {
	case d.IsMap():
		return fmt.Sprintf("map<%s, %s>", kindOf(d.MapKey()), kindOf(d.MapValue()))
	case d.Message() != nil:
		kind = string(d.Message().FullName())
	case d.Enum() != nil:
		kind = string(d.Enum().FullName())
	}
	switch o := d.ContainingOneof(); {
	case d.IsList():
		return "repeated " + kind
	case o != nil && o.IsSynthetic():
		return "optional " + kind
	case o != nil:
		return "oneof " + string(o.Name()) + " " + kind
	}
	return kind
}

// TestGeneratedIsCurrent generates the code anew and compares.
func TestGeneratedIsCurrent(t *testing.T) {
	omptest.Needs(t, "the tools module")
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./protogen", "-root", "../proto", "-out", dir)
	cmd.Dir = filepath.Join("..", "..", "..", "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	fresh, err := filepath.Glob(filepath.Join(dir, "ompd", "v1", "*.pb.go"))
	kept, _ := filepath.Glob("*.pb.go")
	if err != nil || len(fresh) != len(kept) || len(fresh) < len(files()) {
		t.Fatalf("%d files generated, %d checked in (%v)", len(fresh), len(kept), err)
	}
	for _, name := range fresh {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Base(name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the .proto file gives; run `go generate ./proto/ompd/v1` (%v)",
				filepath.Base(name), err)
		}
	}
}
