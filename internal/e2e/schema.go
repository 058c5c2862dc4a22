package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaFile is the schema of the JSON form.
var schemaFile = filepath.Join(Root, "proto", "picture.schema.json")

// compiled compiles the schema once.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("picture.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("picture.json")
})

// ValidatePicture validates a JSON text against the schema of a picture.
func ValidatePicture(tb testing.TB, text []byte) {
	tb.Helper()
	s, err := compiled()
	if err != nil {
		tb.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("%v in:\n%.300s", err, text)
	}
	if err := s.Validate(v); err != nil {
		tb.Errorf("%v", err)
	}
}

// Validate validates a JSON text against the schema of a name, one of those that refer to the schema
// of a picture.
func Validate(tb testing.TB, name string, text []byte) {
	tb.Helper()
	c := jsonschema.NewCompiler()
	for _, file := range []string{"picture.schema.json", name + ".schema.json"} {
		b, err := os.ReadFile(filepath.Join(Root, "proto", file))
		if err != nil {
			tb.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err := errors.Join(err, c.AddResource(file, doc)); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := c.Compile(name + ".schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("%v in:\n%.300s", err, text)
	}
	if err := s.Validate(v); err != nil {
		tb.Errorf("%v", err)
	}
}
