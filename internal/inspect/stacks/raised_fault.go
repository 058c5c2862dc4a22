package stacks

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// RaisedFault reports whether an instruction raised the signal that ended a target, and returns the signal's si_code:
// 1 if only the address of the fault is known.
func RaisedFault(about *picture.Target) (code int, ok bool) {
	code = 1
	if about.SignalCode != nil {
		code = *about.SignalCode
	} else if about.FaultAddress == nil {
		return 0, false
	}
	return code, arch.IsFault(about.Signal) && code > 0
}
