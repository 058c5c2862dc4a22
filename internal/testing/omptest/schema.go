package omptest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is the part of the schemas' $id before the names of their files.
const schemaURL = "https://github.com/ompd-inspect/ompd-inspect/proto/"

// compiled has the schemas used so far, by their names: tests validate thousands of texts.
var compiled sync.Map

// Validate checks a JSON text against proto/NAME.schema.json.
func Validate(tb testing.TB, name string, text []byte) {
	tb.Helper()
	s, ok := compiled.Load(name)
	if !ok {
		fresh, err := compileSchema(filepath.Join(filepath.Dir(filepath.Dir(Programs(tb))), "proto"), name)
		must(tb, err)
		s, _ = compiled.LoadOrStore(name, fresh)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("%v in:\n%.300s", err, text)
	}
	if err := s.(*jsonschema.Schema).Validate(v); err != nil {
		tb.Errorf("%v", err)
	}
}

// compileSchema compiles a schema of a directory, with those that it may refer to.
func compileSchema(dir, name string) (*jsonschema.Schema, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.schema.json"))
	c := jsonschema.NewCompiler()
	for _, file := range files {
		b, errRead := os.ReadFile(file)
		doc, errParse := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		err = errors.Join(err, errRead, errParse, c.AddResource(schemaURL+filepath.Base(file), doc))
	}
	if err != nil {
		return nil, err
	}
	return c.Compile(schemaURL + name + ".schema.json")
}
