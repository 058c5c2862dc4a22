package inspect

import (
	"encoding/hex"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Locate says in which file an address of code lies, by its build ID or, if it has none, its
// name, and where in the file's own addresses: the same in all processes that run the file.
func (in *Inspector) Locate(pc picture.Hex) (file string, offset uint64, ok bool) {
	if in.cfg.Symbolizer == nil {
		return "", 0, false
	}
	m := in.cfg.Symbolizer.Module(uint64(pc))
	if m == nil {
		return "", 0, false
	}
	if file = hex.EncodeToString(m.BuildID); file == "" {
		file = filepath.Base(m.Path)
	}
	return file, uint64(pc) - m.Bias, true
}
