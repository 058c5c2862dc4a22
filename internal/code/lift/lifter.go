package lift

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrUnsupported says that there is no reader of this instruction set.
var ErrUnsupported = errors.New("no reader for the machine code of this architecture")

// For is the reader of an instruction set, or nil.
func For(a callbacks.Arch) Lifter {
	switch a {
	case callbacks.ArchX86_64:
		return x86{}
	case callbacks.ArchAArch64:
		return a64{}
	}
	return nil
}
