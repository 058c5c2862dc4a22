package symbolize

import (
	"bytes"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/unxz"
)

// maxMiniDebug bounds what .gnu_debugdata unpacks to. It holds a symbol table;
// those of the largest libraries have some 50 MB.
const maxMiniDebug = 256 << 20

// memoryImage is a file in memory.
type memoryImage struct {
	*bytes.Reader
	b []byte
}

// Bytes is the content; package elfx uses it without a copy.
func (m memoryImage) Bytes() []byte { return m.b }

// miniDebug returns the small ELF file that some distributions put, compressed,
// into stripped files: it has the symbols of those functions that are not
// exported. Nil if f has none.
func miniDebug(l *budget.Ledger, f *elfx.File) (*elfx.File, error) {
	if !hasSection(f, ".gnu_debugdata") {
		return nil, nil
	}
	packed, _, err := f.Section(".gnu_debugdata")
	if err != nil {
		return nil, err
	}
	return unpackMiniDebug(l, packed)
}

// unpackMiniDebug is the file that such a section has.
func unpackMiniDebug(l *budget.Ledger, packed []byte) (*elfx.File, error) {
	r, done, err := unxz.NewReader(l, bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	defer done()
	b, err := elfx.ReadAllWithin(l, "section .gnu_debugdata", r, maxMiniDebug+1)
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	if len(b) > maxMiniDebug {
		return nil, fmt.Errorf(".gnu_debugdata: over the limit of %d bytes", maxMiniDebug)
	}
	inner, err := elfx.OpenWithin(l, memoryImage{bytes.NewReader(b), b})
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	return inner, nil
}
