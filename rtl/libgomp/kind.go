package libgomp

import "github.com/ompd-inspect/ompd-inspect/rtl"

// Recognize tells whether a module that defines these symbols holds GNU libgomp,
// and as much of its release as they tell.
func Recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	t, mod := rtl.SymbolsOnly(defines, path)
	if !isRuntime(t, mod) {
		return rtl.Kind{}, false
	}
	id := identify(t, mod, &fingerprint{})
	return rtl.Kind{Family: id.Family, Name: id.Name, Version: id.Version}, true
}

// RecognizeStripped tells whether an executable without symbols, in whose constant
// data these texts are, has GNU libgomp linked in: what its errors begin with and a
// setting that is its own are in object files that every such program has.
func RecognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	if !contains("\nlibgomp: \x00") || !contains("GOMP_SPINCOUNT\x00") {
		return rtl.Kind{}, false
	}
	return rtl.Kind{Family: family, Name: fullName}, true
}
