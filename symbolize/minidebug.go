package symbolize

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"

	"github.com/ompd-inspect/ompd-inspect/internal/elfx"
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
func miniDebug(f *elfx.File) (*elfx.File, error) {
	if !hasSection(f, ".gnu_debugdata") {
		return nil, nil
	}
	packed, _, err := f.Section(".gnu_debugdata")
	if err != nil {
		return nil, err
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxMiniDebug+1))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	if len(b) > maxMiniDebug {
		return nil, fmt.Errorf(".gnu_debugdata: over the limit of %d bytes", maxMiniDebug)
	}
	inner, err := elfx.Open(memoryImage{bytes.NewReader(b), b})
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	return inner, nil
}
