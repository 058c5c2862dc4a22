package symbolize

import (
	"bytes"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/unxz"
)

// maxMiniDebug bounds the unpacked .gnu_debugdata, in bytes. It is a symbol table; the largest
// libraries have some 50 MB.
const maxMiniDebug = 256 << 20

// memoryImage is a file in memory.
type memoryImage struct {
	*bytes.Reader
	b []byte
}

// Bytes returns the content, which package elfx uses without a copy.
func (m memoryImage) Bytes() []byte { return m.b }

// miniDebug returns the small compressed ELF file that some distributions put into stripped files; it has the
// symbols of functions that are not exported. It returns nil if f has no such file.
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

// unpackMiniDebug unpacks the file in such a section.
func unpackMiniDebug(l *budget.Ledger, packed []byte) (*elfx.File, error) {
	r, done, err := unxz.NewReader(l, bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	defer done()
	b, err := elfx.ReadAllWithMemory(l, "section .gnu_debugdata", r, maxMiniDebug+1)
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	if len(b) > maxMiniDebug {
		return nil, fmt.Errorf(".gnu_debugdata: over the limit of %d bytes", maxMiniDebug)
	}
	inner, err := elfx.OpenWithMemory(l, memoryImage{bytes.NewReader(b), b})
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	return inner, nil
}
