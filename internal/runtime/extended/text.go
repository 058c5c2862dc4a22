package extended

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// ReadText fills p with the text at a, up to its terminating zero byte. A longer text fills p without one.
func ReadText(mem callbacks.Memory, a callbacks.Address, p []byte) error {
	text, err := layout.ReadString(mem, a, len(p))
	if n := copy(p, text); n == len(p) { // the rest of the text is not wanted
		return nil
	} else if err == nil {
		p[n] = 0
	}
	return err
}
