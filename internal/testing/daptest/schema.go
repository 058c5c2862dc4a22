package daptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the protocol's own schema.
type Schema struct {
	compiler *jsonschema.Compiler
	defined  map[string]any

	mu    sync.Mutex
	parts map[string]*jsonschema.Schema
}

// schemaURL is the name of the schema here.
const schemaURL = "debugProtocol.json"

// loadSchema returns the schema from the module of the protocol's types.
func loadSchema(tb testing.TB) *Schema {
	tb.Helper()
	s, err := protocolSchema()
	if err != nil {
		tb.Fatalf("the protocol's schema: %v", err)
	}
	return s
}

// protocolSchema reads the schema, once for all tests.
var protocolSchema = sync.OnceValues(func() (*Schema, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/go-dap").Output()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "cmd", "gentypes", schemaURL))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	s := &Schema{compiler: jsonschema.NewCompiler(), parts: map[string]*jsonschema.Schema{}}
	root, _ := doc.(map[string]any)
	if s.defined, _ = root["definitions"].(map[string]any); len(s.defined) < 100 {
		return nil, fmt.Errorf("it defines %d things", len(s.defined))
	}
	return s, s.compiler.AddResource(schemaURL, doc)
})

// Check validates a message of an adapter by the definition of its kind.
func (s *Schema) Check(content []byte) error {
	var m Message
	if err := json.Unmarshal(content, &m); err != nil {
		return err
	}
	name := ""
	switch {
	case m.Type == "event":
		name = s.lookUp(m.Event, "Event")
	case m.Type == "response" && !m.Success:
		name = "ErrorResponse"
	case m.Type == "response":
		name = s.lookUp(m.Command, "Response")
	default:
		return fmt.Errorf("an adapter sends no %q", m.Type)
	}
	part, err := s.part(name)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return part.Validate(doc)
}

// lookUp returns the name of the definition of a message: its own, or the general one if the protocol does not
// define the message.
func (s *Schema) lookUp(what, kind string) string {
	if what != "" {
		if name := strings.ToUpper(what[:1]) + what[1:] + kind; s.defined[name] != nil {
			return name
		}
	}
	return kind
}

// part returns a definition of the schema.
func (s *Schema) part(name string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[name]; p != nil {
		return p, nil
	}
	p, err := s.compiler.Compile(schemaURL + "#/definitions/" + name)
	s.parts[name] = p
	return p, err
}
