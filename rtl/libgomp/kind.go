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
