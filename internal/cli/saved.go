package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxSaved bounds the file of a saved picture, in bytes. A picture of a hundred thousand threads with all of
// their stacks is smaller.
const maxSaved = 1 << 30

// isSaved reports whether a name is that of a saved picture, as `report --json` writes it.
func isSaved(name string) bool { return strings.HasSuffix(name, ".json") }

// readSaved reads a saved picture and answers q from it. The verdicts are drawn again from its facts.
func readSaved(name string, q engine.Query) (*picture.Picture, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSaved+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxSaved {
		return nil, fmt.Errorf("%s: more than %d bytes: it is not a picture", name, maxSaved)
	}
	pic := new(picture.Picture)
	if err := json.Unmarshal(b, pic); err != nil {
		return nil, fmt.Errorf("%s is not a picture: %w", name, err)
	}
	switch {
	case pic.Schema != picture.Schema:
		return nil, fmt.Errorf("%s has the schema %q; this version reads %s", name, pic.Schema, picture.Schema)
	case pic.Facts == nil || pic.Threads == nil:
		return nil, fmt.Errorf("%s lacks threads or facts: save it with `ompd-inspect report --json`", name)
	}
	pic.Verdicts = diagnose.Run(pic)
	if !q.Threads {
		pic.Threads = nil
	}
	if !q.Regions {
		pic.Regions = nil
	}
	if !q.Tasks {
		pic.Tasks = nil
	}
	if !q.Stacks {
		pic.Stacks = nil
	}
	return pic, nil
}
