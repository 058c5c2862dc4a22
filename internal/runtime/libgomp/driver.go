package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Driver returns the reader of GNU's runtimes.
func Driver() rtl.Driver {
	return rtl.Driver{
		Family: family, Reads: "GNU libgomp 7-16",
		Recognize: recognize, RecognizeStripped: recognizeStripped, Symbols: noSymbols,
		Files: []string{"libgomp.so", "libgomp-"},
		Open: func(t callbacks.Target, first handles.Stamp, o rtl.Options) ([]rtl.Runtime, error) {
			return Open(t, first, o.Options)
		},
	}
}

// noSymbols returns an empty list: OMPD libraries do not need symbols of GNU's runtime.
func noSymbols(t callbacks.Target) ([]rtl.ModuleSymbols, error) {
	mods, err := findModules(t)
	if len(mods) == 0 || err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: GCC's runtime has nothing for OMPD libraries, stripped or not, "+
		"so that there is no symbol to give back: %w", mods[0].Path, callbacks.Unsupported)
}
