package ompdv1

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The rules are those of `buf lint` with STANDARD and COMMENTS, by buf's names.

var (
	lowerSnake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	upperSnake = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	pascal     = regexp.MustCompile(`^([A-Z][a-z0-9]*)+$`)
	version    = regexp.MustCompile(`\.v[0-9]+((alpha|beta)[0-9]+)?$`)
)

// named checks a name against the form that a rule asks for.
func named(t *testing.T, rule string, form *regexp.Regexp, d protoreflect.Descriptor) {
	t.Helper()
	if !form.MatchString(string(d.Name())) {
		t.Errorf("%s: %s", rule, d.FullName())
	}
}

func TestLintFiles(t *testing.T) {
	for _, f := range files() {
		if f.Package() != "ompd.v1" || !version.MatchString(string(f.Package())) {
			t.Errorf("PACKAGE_VERSION_SUFFIX, DIRECTORY_SAME_PACKAGE: %s has package %s", f.Path(), f.Package())
		}
		if path.Dir(f.Path()) != strings.ReplaceAll(string(f.Package()), ".", "/") {
			t.Errorf("PACKAGE_DIRECTORY_MATCH: %s in %s", f.Package(), f.Path())
		}
		if base := strings.TrimSuffix(path.Base(f.Path()), ".proto"); !lowerSnake.MatchString(base) {
			t.Errorf("FILE_LOWER_SNAKE_CASE: %s", f.Path())
		}
		if f.Syntax() != protoreflect.Proto3 {
			t.Errorf("SYNTAX_SPECIFIED: %s is %v", f.Path(), f.Syntax())
		}
		for i := range f.Imports().Len() {
			if f.Imports().Get(i).IsPublic {
				t.Errorf("IMPORT_NO_PUBLIC: %s in %s", f.Imports().Get(i).Path(), f.Path())
			}
		}
	}
}

func TestLintMessages(t *testing.T) {
	fields := 0
	for _, f := range files() {
		for m := range messages(f) {
			named(t, "MESSAGE_PASCAL_CASE", pascal, m)
			for _, d := range list(m.Fields()) {
				fields++
				named(t, "FIELD_LOWER_SNAKE_CASE", lowerSnake, d)
				if d.Cardinality() == protoreflect.Required {
					t.Errorf("FIELD_NOT_REQUIRED: %s", d.FullName())
				}
			}
			for _, d := range list(m.Oneofs()) {
				if !d.IsSynthetic() {
					named(t, "ONEOF_LOWER_SNAKE_CASE", lowerSnake, d)
				}
			}
		}
	}
	if fields < 300 {
		t.Fatalf("only %d fields checked", fields)
	}
}

func TestLintEnums(t *testing.T) {
	checked := 0
	for _, f := range files() {
		for _, e := range enums(f) {
			checked++
			named(t, "ENUM_PASCAL_CASE", pascal, e)
			prefix := screaming(string(e.Name())) + "_"
			seen := map[protoreflect.EnumNumber]bool{}
			for i, v := range list(e.Values()) {
				named(t, "ENUM_VALUE_UPPER_SNAKE_CASE", upperSnake, v)
				if !strings.HasPrefix(string(v.Name()), prefix) {
					t.Errorf("ENUM_VALUE_PREFIX: %s does not begin with %s", v.FullName(), prefix)
				}
				if i == 0 && (v.Number() != 0 || string(v.Name()) != prefix+"UNSPECIFIED") {
					t.Errorf("ENUM_ZERO_VALUE_SUFFIX, ENUM_FIRST_VALUE_ZERO: %s = %d", v.FullName(), v.Number())
				}
				if seen[v.Number()] {
					t.Errorf("ENUM_NO_ALLOW_ALIAS: %s", v.FullName())
				}
				seen[v.Number()] = true
			}
		}
	}
	if checked < 5 {
		t.Fatalf("only %d enums checked", checked)
	}
}

// screaming makes UPPER_SNAKE_CASE of PascalCase.
func screaming(s string) string {
	return strings.ToUpper(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(s, "${1}_${2}"))
}

func TestLintServices(t *testing.T) {
	used := map[protoreflect.FullName]bool{}
	for _, f := range files() {
		for _, s := range list(f.Services()) {
			named(t, "SERVICE_PASCAL_CASE", pascal, s)
			if !strings.HasSuffix(string(s.Name()), "Service") {
				t.Errorf("SERVICE_SUFFIX: %s", s.FullName())
			}
			for _, m := range list(s.Methods()) {
				named(t, "RPC_PASCAL_CASE", pascal, m)
				if m.Input().Name() != m.Name()+"Request" || m.Output().Name() != m.Name()+"Response" {
					t.Errorf("RPC_REQUEST_STANDARD_NAME, RPC_RESPONSE_STANDARD_NAME: %s", m.FullName())
				}
				if used[m.Input().FullName()] || used[m.Output().FullName()] {
					t.Errorf("RPC_REQUEST_RESPONSE_UNIQUE: %s", m.FullName())
				}
				used[m.Input().FullName()], used[m.Output().FullName()] = true, true
			}
		}
	}
	if len(used) < 2*(37+20) {
		t.Fatalf("only %d requests and responses checked", len(used))
	}
}

// element begins a message, enum, service or call.
var element = regexp.MustCompile(`^\s*(message|enum|service|rpc)\s+(\w+)`)

// TestLintComments asks for a comment that begins with the element's name.
func TestLintComments(t *testing.T) {
	checked := 0
	for _, f := range files() {
		b, err := os.ReadFile(path.Base(f.Path()))
		if err != nil {
			t.Fatal(err)
		}
		comment := ""
		for _, line := range strings.Split(string(b), "\n") {
			text, isComment := strings.CutPrefix(strings.TrimSpace(line), "//")
			if m := element.FindStringSubmatch(line); m != nil {
				checked++
				if !strings.HasPrefix(comment, " "+m[2]+" ") {
					t.Errorf("COMMENT_%s: %s in %s has the comment %q", strings.ToUpper(m[1]), m[2], f.Path(), comment)
				}
			}
			switch {
			case !isComment:
				comment = ""
			case comment == "":
				comment = text
			}
		}
	}
	if checked < 200 {
		t.Fatalf("only %d elements checked", checked)
	}
}
