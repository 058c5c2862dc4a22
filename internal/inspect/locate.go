package inspect

import (
	"encoding/hex"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Locate returns the file, and the offset in it, of the code at an address of a stack. It is not ok if the address
// is in no file.
func (in *Inspector) Locate(pc picture.Hex) (at picture.CodePlace, ok bool) {
	if in.cfg.Symbolizer == nil {
		return at, false
	}
	lookup := uint64(pc)
	if !in.interrupted(lookup) {
		lookup--
	}
	m := in.cfg.Symbolizer.Module(lookup)
	if m == nil {
		return at, false
	}
	if at.File = hex.EncodeToString(m.BuildID); at.File == "" {
		at.File = filepath.Base(m.Path)
	}
	at.Path, at.Offset = m.Path, lookup-m.Bias
	return at, true
}

// interrupted reports whether an address of a stack is that of the next instruction, not a return address.
func (in *Inspector) interrupted(pc uint64) bool {
	if in.exact == nil {
		in.exact = map[uint64]bool{}
		for _, n := range in.roster.All {
			st, known := n.KnownStack()
			if !known {
				continue
			}
			for _, f := range st.Frames {
				if f.Exact {
					in.exact[f.PC] = true
				}
			}
		}
	}
	return in.exact[pc]
}
