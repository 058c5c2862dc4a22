package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// validate is a program in Python that checks files against the schema of pictures, with the schemas that it refers to.
const validate = `
import glob, json, sys
import jsonschema
store = {s["$id"]: s for s in (json.load(open(f)) for f in glob.glob(sys.argv[1] + "/*.schema.json"))}
for schema in store.values():
    jsonschema.Draft202012Validator.check_schema(schema)
schema = next(s for name, s in store.items() if name.endswith("/picture.schema.json"))
resolver = jsonschema.RefResolver(schema["$id"], schema, store)
for file in sys.argv[2:]:
    jsonschema.Draft202012Validator(schema, resolver=resolver).validate(json.load(open(file)))
    try:
        jsonschema.Draft202012Validator(schema, resolver=resolver).validate({"schema": 1})
        sys.exit("a wrong picture is valid")
    except jsonschema.ValidationError:
        print("valid")
`

// TestSchemaInPython checks the JSON of a report with Debian's python3-jsonschema.
func TestSchemaInPython(t *testing.T) {
	environment := omptest.PythonSchema(t)
	dir := t.TempDir()
	g, err := omptest.UnpackGolden(root+"testdata/golden", "llvm-deadlock", dir)
	if err != nil {
		t.Fatal(err)
	}
	target, err := session.Open(t.Context(), g.Core, session.Options{Exe: g.Exe, Sysroot: g.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	result, err := target.Query(t.Context(), session.Report())
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	text, err := json.Marshal(result.Picture)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "picture.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(omptest.Program(t, "python3"), "-W", "ignore", "-c", validate, root+"proto", file)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "valid\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
