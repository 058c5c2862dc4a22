package clib

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// dormantRoutines are the routines that need only the runtime itself: they are also answered before the program
// has used it.
var dormantRoutines = map[kind]func(*space, message, *rtl.Dormant) (result, error){
	kindOMPVersion: func(_ *space, _ message, d *rtl.Dormant) (result, error) {
		v, err := dormantVersion(d)
		return words(uint64(v)), err
	},
	kindOMPVersionString: func(_ *space, _ message, d *rtl.Dormant) (result, error) {
		v, err := dormantVersion(d)
		return text(ompd.Specification(v)), err
	},
	kindNextState: func(_ *space, m message, _ *rtl.Dormant) (result, error) {
		return nextState(handles.State(m.words[1]))
	},
	kindNextICV: func(sp *space, m message, d *rtl.Dormant) (result, error) {
		return nextICV(listVariables(sp.version, d.ICVs), m.words[1])
	},
}

// dormantVersion returns the version of OpenMP that the runtime implements. An unknown version is the same
// error as all other data that is not yet available.
func dormantVersion(d *rtl.Dormant) (int64, error) {
	if d.Identity.OMPVersion == 0 {
		return 0, fmt.Errorf("the version of OpenMP: %w", d)
	}
	return d.Identity.OMPVersion, nil
}
