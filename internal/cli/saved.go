package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxSaved bounds the file of a saved picture, in bytes, also without --max-memory. A picture of a hundred thousand
// threads with all of their stacks is smaller.
const maxSaved = 1 << 30

// isSaved reports whether a name is that of a saved picture, as `report --json` writes it.
func isSaved(name string) bool { return strings.HasSuffix(name, ".json") }

// adviseMemory adds the flag to an error of memory.
func adviseMemory(err error) error {
	if errors.Is(err, budget.ErrMemory) {
		return fmt.Errorf("%w; --max-memory raises it, 0 is any", err)
	}
	return err
}

// readSaved reads a saved picture and answers q from it. The verdicts are drawn again from its facts. Its memory is
// counted in a ledger.
func readSaved(name string, q engine.Query, memory *budget.Ledger) (*picture.Picture, error) {
	b, err := files.Read(name, maxSaved, memory)
	if err != nil {
		return nil, adviseMemory(err)
	}
	pic := new(picture.Picture)
	switch err := jsonx.Unmarshal(b, pic, memory, name); {
	case errors.Is(err, budget.ErrMemory):
		return nil, adviseMemory(err)
	case err != nil:
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
